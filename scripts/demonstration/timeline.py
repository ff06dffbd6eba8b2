"""Draws what ran when: one lane for each part of the system, and what was said in between."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from scripts.demonstration.evidence import Evidence

LANE_CELLS = 64
SHOWN_TEXT_CHARACTERS = 76
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
    cells: int = LANE_CELLS

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


def draw(evidence: Evidence, said: Sequence[tuple[float, str]], began_at: float) -> RenderableType:
    """The lanes, and under them what was said. `said` are the user's texts with their times, in epoch seconds."""
    ended_at = max([began_at + 0.1, *(run.closed_at for run in evidence.invocations)])
    return Group(_lanes(evidence, Scale(began_at, ended_at)), _conversation(evidence, said, began_at))


def _lanes(evidence: Evidence, scale: Scale) -> Table:
    seconds = scale.ended_at - scale.began_at
    table = Table("ran", f"0 s {'to':^{LANE_CELLS - 12}} {seconds:.1f} s", "busy", box=None, padding=(0, 1))
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


def _conversation(evidence: Evidence, said: Sequence[tuple[float, str]], began_at: float) -> Table:
    moments = [(moment, Text.assemble(("user   ", "bold"), text)) for moment, text in said]
    for output in evidence.outputs:
        match output.type:
            case "text":
                line = Text.assemble(("agent  ", "bold green"), _short(output.text_of("text")))
            case "tool_call":
                line = Text.assemble(("calls  ", "cyan"), output.text_of("name"), " ", output.text_of("arguments"))
            case "tool_result":
                line = Text.assemble(("result ", "cyan"), _short(output.text_of("display")))
            case "error":
                line = Text.assemble(("error  ", "bold red"), _short(output.text_of("message")))
            case _:
                continue
        moments.append((output.sent_at, line))
    table = Table("after", "what was said and done", box=None, padding=(0, 1))
    for moment, line in sorted(moments, key=lambda moment: moment[0]):
        table.add_row(f"{moment - began_at:.2f} s", line)
    return table


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= SHOWN_TEXT_CHARACTERS else flat[: SHOWN_TEXT_CHARACTERS - 1] + "…"
