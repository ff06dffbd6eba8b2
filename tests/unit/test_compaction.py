"""A conversation that fills the window is summarised beside itself, and goes on."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from runtime import phrases
from runtime.identity import call_id_at, child_id
from runtime.items import plain_text
from runtime.model.entries import Event, Usage
from runtime.model.messages import Message
from runtime.model.threads import Compaction, SummaryRef, behind
from runtime.model.turns import Completion, ResultBlock
from tests.support.summaries import WINDOW, Step, Summariser, compaction_at, full, summary_requests, texts_of
from tests.support.values import calls, result_message, says
from tests.support.world import World


def world_of(conversation: Sequence[Step], summaries: Sequence[Step] = (), **settings: Any) -> World:
    tools = ("run_build", "watch")
    return World(Summariser(conversation, summaries), tools, model_window_tokens=WINDOW, **settings)


def tell(world: World, *texts: str) -> None:
    for text in texts:
        world.say(text)
        world.settle()


def state_of(world: World, thread_id: str = "t") -> Any:
    summary = world.thread(thread_id).summary
    assert summary is not None
    assert summary.state is not None
    return json.loads(summary.state)


def test_a_summary_stands_in_place_of_what_was_answered() -> None:
    world = world_of([says("one"), says("two"), full("three"), says("four")], [says("They counted to three.")])
    tell(world, "1", "2", "3", "4")
    row = world.thread().row
    assert (row.summary, row.compaction) == (SummaryRef(compaction_at(3), 4), None)
    shown = texts_of(world.model.seen[-1])
    assert "They counted to three." in shown[0]
    assert shown[1:] == ["3", "three", "4"]
    assert [entry.position for entry in behind(row.summarised, world.entries)] == [5, 6, 7, 8]


def test_tokens_that_came_from_the_cache_count_as_read() -> None:
    usages = [Usage(751, 0), Usage(0, 0, cache_read_tokens=751), Usage(0, 0, cache_write_tokens=751)]
    for usage in [*usages, Usage(250, 0, 250, 251)]:
        world = world_of([Completion(says("a").parts, "end_turn", usage)], [says("sum")])
        tell(world, "hello")
        assert world.thread().row.summary is not None


def test_nothing_is_summarised_below_the_share_of_the_window() -> None:
    world = world_of([Completion(says("a").parts, "end_turn", Usage(750, 9_000))])
    tell(world, "hello")
    assert (world.thread().row.compaction, len(world.model.seen)) == (None, 1)


def test_the_conversation_is_answered_while_its_summary_is_written() -> None:
    world = world_of([full("one"), full("two")], [says("sum")])
    world.say("1")
    world.system.step()
    world.say("2")
    while world.thread().row.head < 4:
        world.system.step()
    assert world.thread().row.compaction == Compaction(compaction_at(1), 2, world.clock.now_ms())  # one is enough
    world.settle()
    assert (world.thread().row.summary, len(summary_requests(world.model.seen))) == (SummaryRef(compaction_at(1), 2), 1)


def test_front_ends_hear_that_it_was_compacted_and_nothing_of_how() -> None:
    world = world_of([full("one")], [calls("run_build"), says("sum")])
    tell(world, "1")
    outputs = [(output["type"], output["thread_id"]) for output in world.agent.outputs()]
    assert outputs == [("text", "t"), ("turn_done", "t"), ("compacted", "t")]


def test_the_summary_is_asked_of_the_same_history_byte_for_byte() -> None:
    world = world_of([says("one"), full("two")], [says("sum")])
    tell(world, "1", "2")
    first, second, summary = world.model.seen
    assert (summary.system, summary.tools) == (second.system, second.tools)
    assert summary.messages[:2] == tuple(second.messages[:2])
    assert texts_of(summary)[-1] == phrases.SUMMARISE
    assert first.messages[0] == second.messages[0]


def test_every_call_of_a_compaction_is_answered_text_only_and_after_two_its_text_is_taken() -> None:
    summaries = [calls("run_build", text="Let me see."), calls("spawn_thread", text="So far: one."), calls("run_build")]
    world = world_of([full("one")], summaries)
    tell(world, "1")
    results = [
        block.items[0].text
        for block in world.model.seen[-1].messages[-1].blocks
        if isinstance(block, ResultBlock) and block.items[0].type == "text"
    ]
    assert (results, world.calls, world.thread().family.children) == ([phrases.TEXT_ONLY], [], ())
    summary = world.thread().summary
    assert summary is not None
    assert summary.text == "Let me see.\n\nSo far: one."


def test_what_is_said_beside_refused_calls_is_no_part_of_a_summary_that_follows() -> None:
    world = world_of([full("one")], [calls("run_build", text="Let me see."), says("They said one.")])
    tell(world, "1")
    summary = world.thread().summary
    assert summary is not None
    assert summary.text == "They said one."


def test_a_second_summary_is_made_of_the_first_and_what_followed() -> None:
    world = world_of([full("one"), says("two"), full("three"), says("four")], [says("sum 1"), says("sum 2")])
    tell(world, "1", "2", "3", "4")
    again = texts_of(summary_requests(world.model.seen)[1])
    assert "sum 1" in again[0]
    assert again[1:] == ["2", "two", phrases.SUMMARISE]
    shown = texts_of(world.model.seen[-1])
    assert ("sum 2" in shown[0], "sum 1" in str(shown), shown[1:]) == (True, False, ["3", "three", "4"])


def test_what_is_going_on_is_frozen_into_the_summary() -> None:
    conversation = [
        calls("watch", {"what": "mail"}),
        says("watching"),
        calls("spawn_thread", {"instructions": "count", "child_of": ["t"], "inherit_context": False}),
        calls("run_build", {"of": "it"}),
        calls("run_build", {"of": "the child"}),  # the child's
        full("busy"),
        says("bye"),
    ]
    world = world_of(conversation, [says("sum")])
    world.agent.send_text("watch", metadata={"user_id": "anna"})
    world.settle()
    world.ports.queues.send_inputs([_subscribed(world)])
    world.settle()
    tell(world, "delegate")
    world.clock.advance(1)
    world.agent.send_text("and?", metadata={"user_id": "bert"})
    world.settle()
    state = state_of(world)
    assert (state["thread_id"], state["stack"], state["user_id"]) == ("t", ["t"], "bert")
    assert [(call["tool"], call["arguments"]) for call in state["subscriptions"]] == [("watch", {"what": "mail"})]
    assert [child["task"] for child in state["open_threads"]] == ["count"]
    running = {"tool_call_id": world.calls[1].call_id, "tool": "run_build", "arguments": {"of": "it"}}
    assert state["running_tool_calls"] == [running]
    tell(world, "thanks")
    assert world.thread().summary is not None
    assert state_of(world) == state  # and stays as it was
    assert '"user_id": "bert"' in texts_of(world.model.seen[-1])[0]


def test_long_arguments_of_what_runs_are_frozen_in_part() -> None:
    world = world_of([calls("run_build", {"text": "x" * 90_000}), full("busy")], [says("sum")])
    tell(world, "build", "and?")
    [running] = state_of(world)["running_tool_calls"]
    assert running["tool_call_id"] == world.calls[0].call_id
    assert running["arguments"].startswith('{"text": "xxx')
    assert len(running["arguments"]) < 2_100


def _subscribed(world: World) -> Message:
    return replace(result_message(world.calls[0].call_id, "watching", subscription=True), thread_id="t")


def test_a_result_that_was_waited_for_across_it_answers_its_call() -> None:
    world = world_of([says("one"), full(calls("run_build")), says("built")], [says("sum")])
    tell(world, "1", "build")
    assert world.thread().row.summary is not None
    world.answer(world.calls[0].call_id, "green")
    world.settle()
    assert world.kinds[-3:] == ["tool_call", "tool_result", "assistant"]
    assert "sum" in texts_of(world.model.seen[-1])[0]


def test_a_late_result_of_a_summarised_call_still_finds_it() -> None:
    world = world_of([calls("run_build", {"n": 1}), says("wait"), full("on"), says("built")], [says("sum")])
    tell(world, "build", "and?", "well?")
    assert call_id_at("t", 2) not in str(behind(world.thread().row.summarised, world.entries))
    world.answer(world.calls[0].call_id, "green")
    world.settle()
    event = world.entries[-2].body
    assert isinstance(event, Event)
    assert (event.call_id, event.name, event.arguments) == (call_id_at("t", 2), "run_build", {"n": 1})
    assert plain_text(event.items) == "green"


def test_a_child_is_compacted_like_any_other_thread_and_its_report_finds_the_call_its_parent_summarised() -> None:
    child = child_id("t", call_id_at("t", 2))
    conversation = [
        calls("spawn_thread", {"instructions": "count", "child_of": ["t"]}),
        says("it counts"),
        full(calls("run_build")),  # the child's
        full("on"),
        calls("close_thread", {"thread_id": child, "report_to_parent": "I counted."}),
        says("it has counted"),
    ]
    world = world_of(conversation, [says("the child's sum"), says("the root's sum")])
    tell(world, "delegate", "and?")
    assert (world.thread(child).row.summary is not None, world.thread().row.summary is not None) == (True, True)
    world.calls[0].answer("done")
    world.settle()
    assert [state_of(world, each).get("stack") for each in ("t", child)] == [["t"], ["t", child]]
    events = [entry.body for entry in world.entries if isinstance(entry.body, Event)]
    assert [(event.source, event.call_id) for event in events] == [("report", call_id_at("t", 2))]
    assert world.thread(child).row.closed
