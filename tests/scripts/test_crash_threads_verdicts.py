"""The judge of the crash-threads scenario: every promise, seen kept and seen broken."""

from dataclasses import replace

import pytest

from scripts.demonstration.crash_threads_verdicts import Outcome, comparable, judge_calm, judge_killed
from scripts.demonstration.evidence import Invocation, ModelRequest
from scripts.demonstration.families import Family
from tests.support.family_values import entry, member, root

RAN, FAILED = Invocation("slice", 0, 1, "sqs"), Invocation("slice", 0, 1, "sqs", failed=True)


def outcome(child_id: str, text: str = "Looked.") -> Outcome:
    call = entry(2, "tool_call", call_id=f"call_{child_id[:8] * 3}", provider_call_id=child_id)
    child = member(child_id, entry(3, "assistant", text))
    family = Family([root(entry(1, "user", "look"), call), child])
    return Outcome(family, child.outputs, [ModelRequest(0, 1, refused=False, messages=[])], [RAN])


CALM = outcome("00000000-aaaa-5aaa-8aaa-aaaaaaaaaaaa")
KILLED = replace(outcome("11111111-bbbb-5bbb-8bbb-bbbbbbbbbbbb"), slices=[FAILED, RAN], killed=True, is_gone=True)


def test_ids_are_compared_by_where_they_stand() -> None:
    assert list(comparable(CALM.family)) == list(comparable(KILLED.family))
    assert judge_calm(CALM).ok
    assert judge_killed(KILLED, CALM).ok


@pytest.mark.parametrize(
    ("run", "promise"),
    [
        (replace(KILLED, killed=False), "was killed"),
        (replace(KILLED, is_gone=False), "was killed"),
        (replace(KILLED, slices=[RAN]), "was killed"),
        (replace(KILLED, family=outcome("11111111-bbbb-5bbb-8bbb-bbbbbbbbbbbb", "Lost.").family), "undisturbed ones"),
        (replace(KILLED, family=Family(KILLED.family.members[:1])), "undisturbed ones"),
        (replace(KILLED, outputs=[*KILLED.outputs, *KILLED.outputs]), "was sent once"),
        (replace(KILLED, requests=[ModelRequest(0, 1, refused=True, messages=[])]), "unanswered call"),
    ],
)
def test_what_differs_is_seen(run: Outcome, promise: str) -> None:
    assert promise in judge_killed(run, CALM).why


def test_a_measure_in_which_something_failed_is_none() -> None:
    assert not judge_calm(replace(CALM, slices=[FAILED])).ok
