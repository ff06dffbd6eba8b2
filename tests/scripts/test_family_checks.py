"""What holds of every conversation with several threads: each promise, seen kept and seen broken."""

from dataclasses import replace

from scripts.commands.messages import JsonObject
from scripts.demonstration.evidence import ModelRequest
from scripts.demonstration.families import Family, Member
from scripts.demonstration.family_checks import (
    answers_were_sent_once,
    every_word_arrived_once_in_order,
    positions_are_dense,
)
from scripts.demonstration.verdicts import model_saw_only_answered_calls
from tests.support.family_values import entry, event, member, root

CHILD = member(
    "child",
    entry(3, "tool_result", "Reported.", deed={"report": "one"}),
    entry(4, "assistant", "two", reports=True),
    entry(5, "tool_result", "Closed.", deed={"last_report": ""}),
)
HEARD = [
    event(3, "report", "one", cause="report:child:3"),
    event(4, "report", "two", cause="report:child:4"),
    event(5, "report", "closed", cause="closed:child"),
]


def family(*heard: int, child: Member = CHILD) -> Family:
    """The root has heard what stands at these places, in this order."""
    events = [replace(HEARD[place], position=3 + at) for at, place in enumerate(heard)]
    return Family([root(entry(1, "user", "look"), entry(2, "tool_call"), *events), child])


def test_every_word_that_was_told_has_to_be_heard_once_and_in_order() -> None:
    assert every_word_arrived_once_in_order(family(0, 1, 2)).kept
    assert not every_word_arrived_once_in_order(family(0, 1)).kept
    assert not every_word_arrived_once_in_order(family(1, 0, 2)).kept
    assert not every_word_arrived_once_in_order(family(0, 1, 1, 2)).kept
    assert not every_word_arrived_once_in_order(Family([root(entry(1, "user", "look"))])).kept


def test_the_closing_of_an_events_thread_is_told_only_with_a_report() -> None:
    silent = member("child", CHILD.entries[2], kind="event")
    assert silent.words_to_parent() == []
    last = entry(5, "tool_result", "Closed.", deed={"last_report": "bye"})
    assert member("child", last, kind="event").words_to_parent() == ["closed:child"]


def test_every_answer_has_to_be_sent_once() -> None:
    good = family(0, 1, 2)
    outputs = [each for thread in good.members for each in thread.outputs]
    assert answers_were_sent_once(good, outputs).kept
    assert not answers_were_sent_once(good, [*outputs, *outputs]).kept
    assert not answers_were_sent_once(family(child=replace(CHILD, outputs=[])), []).kept


def test_the_model_may_be_shown_no_call_without_an_answer() -> None:
    use: JsonObject = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1"}}]}
    assert model_saw_only_answered_calls([ModelRequest(0, 1, refused=False, messages=[])]).kept
    assert not model_saw_only_answered_calls([ModelRequest(0, 1, refused=False, messages=[use])]).kept
    assert not model_saw_only_answered_calls([ModelRequest(0, 1, refused=True, messages=[])]).kept
    assert not model_saw_only_answered_calls([]).kept


def test_a_history_may_have_no_gap() -> None:
    assert positions_are_dense(family(0, 1, 2)).kept
    assert not positions_are_dense(family(child=replace(CHILD, entries=[CHILD.entries[0], CHILD.entries[2]]))).kept
