"""How often the queue gave out each message, and what became of it each time: read from the log of the pollers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from scripts.demonstration.evidence import json_lines

# A line is as open-ended as what was logged; hence Any.
JsonLine: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message in one batch, by its SQS id and group; times in epoch seconds of the stack.

    `handled`: it was deleted afterwards.
    """

    message_id: str
    group: str
    receives: int
    delivered_at: float
    settled_at: float
    handled: bool


def read_deliveries(log: Path, function: str, since: float) -> list[Delivery]:
    """Those to one function that were given out after `since` and have been settled, in order."""
    found: list[Delivery] = []
    opened: dict[tuple[str, ...], JsonLine] = {}
    for line in json_lines(log):
        if line.get("function") != function or line["time"] < since:
            continue
        batch = tuple(line["message_ids"])
        if line["what"] == "batch delivered":
            opened[batch] = line
        elif begun := opened.pop(batch, None):
            found += _deliveries_of(begun, line)
    return sorted(found, key=lambda delivery: delivery.delivered_at)


def _deliveries_of(begun: JsonLine, settled: JsonLine) -> list[Delivery]:
    return [
        Delivery(
            message_id=name,
            group=group,
            receives=receives,
            delivered_at=begun["time"],
            settled_at=settled["time"],
            handled=name in settled["handled"],
        )
        for name, (group, receives) in begun["receives"].items()
    ]
