"""What a conversation left behind in which a process was killed: that of any scenario, and what passed on the wire."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.demonstration.evidence import Evidence
from scripts.offline_stack.interposers.interventions import Stage
from scripts.offline_stack.interposers.watch import Kill

# The steps of a slice that pass by on the wire, whether its process has just started or not.
STEPS = ("read receipts", "load", "complete", "commit", "send outputs", "call tool", "write receipts")


@dataclass(frozen=True, slots=True)
class KillPoint:
    """A moment of the slice that hands the build over. `name` completes "killed …"; at this stage it is held."""

    name: str
    step: str
    stage: Stage


KILL_POINTS = (
    KillPoint("before the model call", "complete", "arrived"),
    KillPoint("after the model call", "commit", "arrived"),
    KillPoint("after COMMIT", "commit", "answered"),
    KillPoint("between two effects", "call tool", "arrived"),
    KillPoint("inside the tool's POST", "call tool", "passed on"),
    KillPoint("after the tool's POST", "call tool", "answered"),
    KillPoint("before the receipts", "write receipts", "arrived"),
    KillPoint("after the receipts", "write receipts", "answered"),
)


@dataclass(frozen=True, slots=True)
class Sighting:
    """One line of the wire log. `outputs` are fingerprints of bodies by output id; `key` is an Idempotency-Key.

    `pid` is 0 for a request whose process had ended before its connection was looked at.
    """

    at: float
    step: str
    stage: Stage
    pid: int
    killed: bool
    outputs: Mapping[str, str] = field(default_factory=dict)
    key: str = ""

    @property
    def moment(self) -> tuple[str, Stage]:
        return self.step, self.stage


@dataclass(frozen=True, slots=True)
class Run:
    """One conversation, with the kill that happened in it, if one did. `sightings` are of steps, in order.

    `is_gone`: the killed process was looked for afterwards and is not there.
    """

    thread_id: str
    began_at: float
    evidence: Evidence
    sightings: Sequence[Sighting]
    kill: Kill | None = None
    is_gone: bool = False

    def seen(self, step: str, stage: Stage) -> list[Sighting]:
        return [each for each in self.sightings if each.moment == (step, stage)]


def read_sightings(wire_log: Path, since: float) -> list[Sighting]:
    """The steps that passed by after `since`, in epoch seconds."""
    lines = [json.loads(line) for line in wire_log.read_text().splitlines()]
    return [
        Sighting(
            at=line["time"],
            step=line["what"],
            stage=line["stage"],
            pid=line["pid"] or 0,
            killed=line["killed"],
            outputs=line.get("outputs", {}),
            key=line.get("key", ""),
        )
        for line in lines
        if line["what"] in STEPS and line["time"] >= since
    ]
