"""Whether a conversation of several threads went on as if no process had been killed, judged from evidence alone.

It is compared with one of the same words in which nothing was killed. Ids differ between any two conversations: each is
named by the place at which it appears first.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scripts.commands.outputs import Output
from scripts.demonstration.crash_verdicts import OUTPUT_NAMES, timeless
from scripts.demonstration.evidence import Invocation, ModelRequest
from scripts.demonstration.families import Family, Member
from scripts.demonstration.family_checks import (
    answers_were_sent_once,
    positions_are_dense,
)
from scripts.demonstration.verdicts import Check, Verdict, counted, model_saw_only_answered_calls

# Threads, calls and what is made of them; a thread of the demo; whatever else is a hash.
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|demo-[a-z-]+-[0-9a-f]{8}|(?:[a-z]+_)?[0-9a-f]{20,}")
_SLEPT = re.compile(r"(?<=Slept for )\d+ s")  # who was killed at its beginning may have slept longer


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a conversation left behind. `killed`: a process was, in it; `is_gone`: it was looked for afterwards."""

    family: Family
    outputs: Sequence[Output]
    requests: Sequence[ModelRequest]
    slices: Sequence[Invocation]
    killed: bool = False
    is_gone: bool = False

    @property
    def failed(self) -> int:
        return sum(invocation.failed for invocation in self.slices)


def judge_calm(calm: Outcome) -> Verdict:
    """The measure for all others: something happened in it, and nothing was killed."""
    members = counted(len(calm.family.members), "thread")
    undisturbed = Check("nothing was killed", bool(calm.family.members) and not calm.failed, members)
    return Verdict([undisturbed, *_common(calm)], slices=len(calm.slices))


def judge_killed(run: Outcome, calm: Outcome) -> Verdict:
    ours, theirs = list(comparable(run.family)), list(comparable(calm.family))
    difference = next(
        (f"{mine} instead of {other}" for mine, other in zip(ours, theirs, strict=False) if mine != other), ""
    )
    same = ours == theirs
    return Verdict(
        [
            Check(
                "a process was killed, once, and is gone",
                run.killed and run.is_gone and run.failed == 1,
                f"{run.failed} killed",
            ),
            Check(
                "histories, calls and outputs of all threads are the undisturbed ones",
                same,
                f"{len(ours)} equal rows" if same else difference or f"{len(ours)} rows instead of {len(theirs)}",
            ),
            *_common(run),
        ],
        slices=len(run.slices),
    )


def _common(run: Outcome) -> list[Check]:
    return [
        positions_are_dense(run.family),
        answers_were_sent_once(run.family, run.outputs),
        model_saw_only_answered_calls(run.requests),
    ]


def comparable(family: Family) -> Iterator[str]:
    """Everything that is stored and said, by thread, without what differs between any two conversations."""
    names: dict[str, str] = {}
    for row in _rows(family):
        named = _ID.sub(lambda found: names.setdefault(found[0], f"<{len(names)}>"), row)
        yield _SLEPT.sub("a while", named)


def _rows(family: Family) -> Iterator[str]:
    for member in family.members:
        yield f"{member.birth.kind} {member.thread_id} of {member.birth.parent_id}, open: {member.birth.is_open}"
        yield from _rows_of(member)


def _rows_of(member: Member) -> Iterator[str]:
    for entry in member.entries:
        yield f"{entry.position} {entry.kind} {json.dumps(timeless(entry.body), sort_keys=True)}"
    for call in member.calls:
        yield f"{call.name} {call.call_id} {call.state}"
    for output in member.outputs:
        fields = {name: value for name, value in output.fields.items() if name not in OUTPUT_NAMES}
        yield f"{output.seq} {output.type} {json.dumps(timeless(fields), sort_keys=True)}"
