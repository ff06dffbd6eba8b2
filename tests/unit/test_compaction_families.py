"""Compaction where others have to do with the thread: its children, its subscriptions, whoever closes it."""

import pytest

from runtime import phrases
from runtime.context import model_request
from runtime.draft import Draft
from runtime.identity import call_id_at, child_id, event_message_id, result_message_id
from runtime.items import plain_text
from runtime.model.entries import Event, TextItem
from runtime.model.messages import EventContent, Message, MessageKey, ResultContent
from runtime.model.threads import Thread
from runtime.model.turns import ModelRequest
from runtime.own_messages import first_wake
from runtime.wire.messages import body_hash
from tests.support.summaries import WINDOW, Summariser, blocks_of, compaction_at, full, summary_requests, texts_of
from tests.support.values import calls, says
from tests.support.world import World

CHILD = child_id("t", call_id_at("t", 4))


def tell(world: World, *texts: str) -> None:
    for text in texts:
        world.say(text)
        world.settle()


def request_of(thread: Thread) -> ModelRequest:
    draft = Draft.of(thread)
    return model_request(draft, draft.visible_entries(), (), "", 1)


def subscribed() -> World:
    """A thread that watches something since before its summary."""
    conversation = [calls("run_build", {"what": "mail"}), says("watching"), says("on"), full("bye"), says("seen")]
    world = World(Summariser(conversation, [says("They watch mail.")]), model_window_tokens=WINDOW)
    tell(world, "watch")
    call_id = world.calls[0].call_id
    content = ResultContent(call_id, (TextItem("watching"),), subscription=True)
    key = MessageKey("tool_result", result_message_id(call_id))
    world.ports.queues.send_inputs([Message("t", key, content, body_hash(content))])
    world.settle()
    tell(world, "and?", "well?")
    assert world.thread().row.summary is not None
    return world


def fire(world: World, *, associative: bool) -> str:
    call_id = world.calls[0].call_id
    content = EventContent(call_id, (TextItem("a letter"),), associative)
    key = MessageKey("subscription_event", event_message_id(call_id, "1"))
    world.ports.queues.send_inputs([Message("t", key, content, body_hash(content))])
    world.settle()
    return key.message_id


def test_an_event_finds_the_subscription_that_a_summary_stands_for() -> None:
    world = subscribed()
    fire(world, associative=True)
    event = world.entries[-2].body
    assert isinstance(event, Event)
    assert (event.call_id, event.arguments, plain_text(event.items)) == (
        world.calls[0].call_id,
        {"what": "mail"},
        "a letter",
    )


def test_a_thread_for_an_event_sees_the_summary_and_what_is_behind_it() -> None:
    world = subscribed()
    message_id = fire(world, associative=False)
    child = world.thread(child_id("t", message_id))
    assert child.row.summary == world.thread().row.summary
    shown = texts_of(world.model.seen[-1])
    assert "They watch mail." in shown[0]
    assert phrases.HANDLE_ONE_EVENT in str(world.model.seen[-1].messages)
    assert child.row.closed


def test_a_child_from_before_keeps_what_it_inherited_byte_for_byte() -> None:
    spawns = calls("spawn_thread", {"instructions": "count", "child_of": ["t"]})
    conversation = [says("one"), spawns, says("it counts"), calls("run_build"), full("on")]
    world = World(Summariser(conversation, [says("sum")]), model_window_tokens=WINDOW)
    tell(world, "1", "delegate")
    before = request_of(world.thread(CHILD))
    tell(world, "and?")
    assert world.thread().row.summary is not None
    assert request_of(world.thread(CHILD)) == before
    parent_saw = blocks_of(world.model.seen[1])  # when it spawned the child
    assert blocks_of(before)[: len(parent_saw)] == parent_saw


def test_a_child_from_behind_a_summary_begins_with_it_in_the_same_bytes() -> None:
    spawns = calls("spawn_thread", {"instructions": "count", "child_of": ["t"]})
    conversation = [full("one"), spawns, says("it counts"), calls("run_build")]
    world = World(Summariser(conversation, [says("sum")]), model_window_tokens=WINDOW)
    tell(world, "1", "delegate")
    parent, inside = world.model.seen[-2:]
    assert blocks_of(inside)[: len(blocks_of(parent)) - 1] == blocks_of(parent)[:-1]  # all but the parent's own result
    assert "sum" in texts_of(inside)[0]


def test_a_thread_that_closes_while_it_is_summarised_takes_its_compaction_with_it() -> None:
    spawns = calls("spawn_thread", {"instructions": "count", "child_of": ["t"]})
    closes = calls("close_thread", {"thread_id": CHILD})
    conversation = [says("one"), spawns, says("it counts"), full(calls("list_activity")), closes, says("so it has")]
    world = World(Summariser(conversation, [says("sum")]), model_window_tokens=WINDOW)
    tell(world, "1")
    world.say("delegate")
    while not world.thread(CHILD).row.closed:
        world.system.step()
    mark = world.thread(CHILD).row.compaction
    assert mark is not None
    assert world.thread(mark.thread_id).row.closed
    world.settle()
    assert summary_requests(world.model.seen) == []
    assert world.thread(CHILD).row.summary is None
    assert len(world.system.inputs) == 0


@pytest.mark.parametrize("times", [1, 3])
def test_a_compaction_that_is_woken_again_writes_one_summary(times: int) -> None:
    world = World(Summariser([full("one")], [says("sum")]), model_window_tokens=WINDOW)
    tell(world, "1")
    world.clock.advance(600)  # the queue has forgotten the first one
    world.ports.queues.send_inputs([first_wake(compaction_at(1))] * times)
    world.settle()
    assert len(summary_requests(world.model.seen)) == 1
