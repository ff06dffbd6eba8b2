"""Draws what ran when: one lane for each part of the system, and what was said in between."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from scripts.commands.chat import render
from scripts.demonstration.evidence import Evidence

LANE_CELLS = 60
BESIDE_THE_LANE = 30  # columns for the names and sums beside a lane
BESIDE_THE_TEXT = 20  # columns for the time and the speaker
RUNNING, WAITING = "█", "·"
STYLES = {"slice": "green", "model": "magenta", "receiver": "yellow", "timer relay": "yellow", "tool server": "cyan"}


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which something ran, in epoch seconds."""

    began_at: float
    ended_at: float


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps epoch seconds to cells of a lane."""

    began_at: float
    ended_at: float
    cells: int

    def lane(self, spans: Iterable[Span]) -> str:
        """Draw the spans; also the shortest fills one cell, or it could not be seen."""
        cells = [WAITING] * self.cells
        for span in spans:
            for cell in range(self._cell(span.began_at), self._cell(span.ended_at) + 1):
                cells[cell] = RUNNING
        return "".join(cells)

    def _cell(self, moment: float) -> int:
        whole = max(self.ended_at - self.began_at, 1e-9)
        place = int((moment - self.began_at) / whole * self.cells)
        return min(max(place, 0), self.cells - 1)


def draw(evidence: Evidence, said: Sequence[tuple[float, str]], began_at: float, columns: int) -> RenderableType:
    """The lanes, and under them what was said, within so many columns.

    `said` are the user's texts with their times, in epoch seconds.
    """
    ended_at = max([began_at + 0.1, *(run.closed_at for run in evidence.invocations)])
    scale = Scale(began_at, ended_at, cells=min(LANE_CELLS, columns - BESIDE_THE_LANE))
    return Group(_lanes(evidence, scale), _conversation(evidence, said, began_at, columns - BESIDE_THE_TEXT))


def _lanes(evidence: Evidence, scale: Scale) -> Table:
    end = f"{scale.ended_at - scale.began_at:.1f} s"
    table = Table("what ran", f"0 s{end:>{scale.cells - 3}}", "busy", box=None, padding=(0, 1))
    for part, spans in _spans(evidence).items():
        if spans:
            busy_s = sum(span.ended_at - span.began_at for span in spans)
            table.add_row(f"{len(spans)} {part}", Text(scale.lane(spans), style=STYLES[part]), f"{busy_s:.2f} s")
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


def _conversation(evidence: Evidence, said: Sequence[tuple[float, str]], began_at: float, columns: int) -> Table:
    moments = [(moment, Text.assemble(("user   ", "bold"), text)) for moment, text in said]
    moments += [(output.sent_at, render(output)) for output in evidence.outputs if output.type != "turn_done"]
    table = Table("after", "what was said and done", box=None, padding=(0, 1))
    for moment, line in sorted(moments, key=lambda moment: moment[0]):
        line.truncate(columns, overflow="ellipsis")
        table.add_row(f"{moment - began_at:.2f} s", line)
    return table
