"""What goes on for a thread, told to the model: whole where it is little, within bounds where it is much."""

import json
from collections.abc import Sequence
from dataclasses import replace

from runtime import compaction, going_on
from runtime.draft import Draft
from runtime.model.calls import Call
from runtime.model.entries import JsonObject, ToolCall
from runtime.model.messages import CompactionContent
from runtime.model.threads import Birth, Child, Compaction, Summary, SummaryRef, Thread
from runtime.steps import steps_since_input
from runtime.tools.activity import LIST_ACTIVITY
from runtime.tools.offer import Asked
from tests.support.values import LIMITS, NOW_MS, answered, asked, call_row, thread_of


def many(count: int, arguments: JsonObject) -> list[Call]:
    """So many calls that still run, the oldest first."""
    return [
        replace(call_row(f"call_{number}", "detached", position=number), arguments=arguments) for number in range(count)
    ]


def with_summary(calls: Sequence[Call]) -> Thread:
    """A thread of which all has been summarised while these calls ran."""
    mark, summary = Compaction("writer", 2, NOW_MS), Summary(SummaryRef("writer", 2), "so far")
    before = thread_of(asked(), answered(), calls=calls)
    before = replace(before, row=replace(before.row, compaction=mark), summaries={"writer": summary})
    draft = compaction.ended(Draft.of(before), CompactionContent("writer", 2))
    return replace(before, row=draft.row, entries=(), summary=replace(summary, state=draft.frozen_state))


def test_a_thread_with_ever_so_many_calls_that_run_goes_on_behind_its_summary() -> None:
    thread = with_summary(many(1_000, {"text": 'ä"\n' * 60_000}))
    assert thread.summary is not None
    assert len(thread.summary.state or "") < 50_000
    assert steps_since_input(Draft.of(thread)) == 1


def test_of_very_many_calls_the_newest_are_listed_and_the_others_counted() -> None:
    listed = going_on.calls_in("detached", many(1_000, {}))
    assert listed[0] == {"others_left_out": 900}
    assert [call["tool_call_id"] for call in listed[1:]] == [f"call_{number}" for number in range(900, 1_000)]


def test_where_arguments_are_too_much_together_every_call_keeps_its_name() -> None:
    listed = going_on.calls_in("detached", many(50, {"text": "x" * 90_000}))
    assert [call["tool_call_id"] for call in listed] == [f"call_{number}" for number in range(50)]
    assert ["arguments" in call for call in listed] == [False] * 45 + [True] * 5


def test_one_call_with_large_arguments_hides_nothing_else_that_goes_on() -> None:
    calls = [replace(call, state="subscribed") for call in many(1, {"text": "x" * 200_000})]
    thread = thread_of(asked(), calls=[*calls, *many(2, {"n": 1})[1:]])
    assert LIST_ACTIVITY.run is not None
    answer = LIST_ACTIVITY.run(Asked(Draft.of(thread), ToolCall("call_9", "list_activity", {}), NOW_MS, LIMITS))
    activity = json.loads(answer.text)
    assert activity["running_tool_calls"] == [{"tool_call_id": "call_1", "tool": "run_build", "arguments": {"n": 1}}]
    assert [call["tool_call_id"] for call in activity["subscriptions"]] == ["call_0"]


def test_of_very_many_threads_some_are_listed_and_the_others_counted() -> None:
    listed = going_on.threads(tuple(Child(f"child {number}", Birth("spawned", (), "", "t")) for number in range(102)))
    assert listed[:2] == [{"others_left_out": 2}, {"thread_id": "child 2", "task": "t"}]
    assert len(listed) == 101
