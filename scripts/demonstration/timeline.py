"""Draws what ran when: one lane for each part of the system, and what was said in between."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from scripts.commands.rendering import render, render_user
from scripts.demonstration.evidence import Evidence

LANE_CELLS = 60
BESIDE_THE_LANE = 30  # columns for the names and sums beside a lane
BESIDE_THE_TEXT = 20  # columns for the time and the speaker
RUNNING, WAITING, MARKED = "█", "·", "✗"
STYLES = {"slice": "green", "model": "magenta", "receiver": "yellow", "timer relay": "yellow", "tool server": "cyan"}


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which something ran, in epoch seconds."""

    began_at: float
    ended_at: float


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that was done to the system, in epoch seconds; shown among what ran and what was said."""

    at: float
    what: str


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps epoch seconds to cells of a lane."""

    began_at: float
    ended_at: float
    cells: int

    def lane(self, spans: Iterable[Span], marks: Iterable[float] = ()) -> str:
        """Draw the spans, and the marks over them; also the shortest fills one cell, or it could not be seen."""
        cells = [WAITING] * self.cells
        for span in spans:
            for cell in range(self._cell(span.began_at), self._cell(span.ended_at) + 1):
                cells[cell] = RUNNING
        for moment in marks:
            cells[self._cell(moment)] = MARKED
        return "".join(cells)

    def _cell(self, moment: float) -> int:
        whole = max(self.ended_at - self.began_at, 1e-9)
        place = int((moment - self.began_at) / whole * self.cells)
        return min(max(place, 0), self.cells - 1)


def draw(
    evidence: Evidence,
    said: Sequence[tuple[float, str]],
    began_at: float,
    columns: int,
    marks: Sequence[Mark] = (),
) -> RenderableType:
    """The lanes, and under them what was said, within so many columns.

    `said` are the user's texts with their times, in epoch seconds; `marks` stand in the lane of the slices.
    """
    ended_at = max([began_at + 0.1, *(run.closed_at for run in evidence.invocations)])
    scale = Scale(began_at, ended_at, cells=min(LANE_CELLS, columns - BESIDE_THE_LANE))
    moments = [(moment, render_user(text)) for moment, text in said]
    moments += [(mark.at, Text(mark.what, style="bold red")) for mark in marks]
    lanes = _lanes(evidence, scale, [mark.at for mark in marks])
    return Group(lanes, _conversation(evidence, moments, began_at, columns - BESIDE_THE_TEXT))


def _lanes(evidence: Evidence, scale: Scale, marks: Sequence[float]) -> Table:
    end = f"{scale.ended_at - scale.began_at:.1f} s"
    table = Table("what ran", f"0 s{end:>{scale.cells - 3}}", "busy", box=None, padding=(0, 1))
    for part, spans in _spans(evidence).items():
        if spans:
            busy_s = sum(span.ended_at - span.began_at for span in spans)
            lane = scale.lane(spans, marks if part == "slice" else ())
            table.add_row(f"{len(spans)} {part}", Text(lane, style=STYLES[part]), f"{busy_s:.2f} s")
    return table


def _spans(evidence: Evidence) -> dict[str, list[Span]]:
    def of(part: str) -> list[Span]:
        return [Span(run.opened_at, run.closed_at) for run in evidence.invocations if run.part == part]

    model = [Span(request.requested_at, request.responded_at) for request in evidence.requests]
    return {
        "slice": of("slice"),
        "model": model,
        "tool server": of("tool server"),
        "receiver": of("receiver"),
        "timer relay": of("timer relay"),
    }


def _conversation(evidence: Evidence, others: Sequence[tuple[float, Text]], began_at: float, columns: int) -> Table:
    moments = [*others]
    moments += [(output.sent_at, render(output)) for output in evidence.outputs if output.type != "turn_done"]
    table = Table("after", "what was said and done", box=None, padding=(0, 1))
    for moment, line in sorted(moments, key=lambda moment: moment[0]):
        line.truncate(columns, overflow="ellipsis")
        table.add_row(f"{moment - began_at:.2f} s", line)
    return table
