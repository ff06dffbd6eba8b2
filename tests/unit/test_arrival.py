"""What a delivery brings, before history is looked at."""

from dataclasses import replace

from runtime.adapters.memory.payloads import MemoryPayloads
from runtime.arrival import unhandled, wanted, with_payloads
from runtime.model.entries import TextItem, ToolResult
from runtime.model.messages import Delivery, EventContent, Message, MessageKey, PayloadRef, ResultContent
from runtime.ports import Progress
from runtime.wire.items import pack_items
from runtime.wire.messages import body_hash
from tests.support.values import calls, result_message, says, text_message, undelivered_message, wake_message
from tests.support.world import World


def delivery(message: Message, record_id: str = "r1") -> Delivery:
    return Delivery(message, record_id, "h1", receive_count=1, first_received_ms=0)


def test_messages_with_a_receipt_are_taken_out() -> None:
    old, new = text_message("a", "user:1"), text_message("b", "user:2")
    assert unhandled([delivery(old), delivery(new)], Progress({old.key: ""})) == (delivery(new),)


def test_the_same_message_twice_in_one_delivery_is_its_first_copy() -> None:
    message = text_message("a", "user:1")
    copies = [delivery(message, "r1"), delivery(message, "r2")]
    assert unhandled(copies, Progress()) == (copies[0],)


def test_a_load_brings_the_calls_that_messages_name() -> None:
    messages = [text_message("a"), result_message("call_1"), undelivered_message("call_2"), wake_message()]
    asked_for = wanted(messages, performed=7)
    assert (asked_for.call_ids, asked_for.performed, len(asked_for.keys)) == (("call_1", "call_2"), 7, 4)


def test_a_result_that_travelled_by_reference_is_read_back_and_shown() -> None:
    world = World([calls("run_build"), says("Long.")])
    world.say("build")
    world.settle()
    call_id = world.calls[0].call_id
    ref = world.ports.payloads.put("t", pack_items((TextItem("x" * 300_000),)))
    world.ports.queues.send_inputs([_by_reference(call_id, ref)])
    world.settle()
    result = world.entries[2].body
    assert isinstance(result, ToolResult)
    (item,) = result.items
    assert isinstance(item, TextItem)
    assert item.text.startswith("x" * 100_000 + "\n[Cut: the first 100000 of 300000 characters are shown.]")


def test_a_result_whose_content_is_gone_says_so_instead_of_blocking_its_thread() -> None:
    world = World([calls("run_build"), says("Gone.")])
    world.say("build")
    world.settle()
    world.ports.queues.send_inputs([_by_reference(world.calls[0].call_id, PayloadRef("no/such", 5))])
    world.settle()
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]


def test_content_that_is_there_is_left_alone() -> None:
    message = text_message("a")
    assert with_payloads(message, MemoryPayloads()) is message


def test_an_event_that_travelled_by_reference_is_read_back_with_all_else_it_said() -> None:
    payloads, items = MemoryPayloads(), (TextItem("x" * 300_000),)
    event = EventContent("call_1", (), final=True, payload=payloads.put("t", pack_items(items)))
    message = Message("t", MessageKey("subscription_event", "event:call_1:k"), event, body_hash(event))
    assert with_payloads(message, payloads).content == EventContent("call_1", items, final=True)


def _by_reference(call_id: str, ref: PayloadRef) -> Message:
    content = ResultContent(call_id, (), payload=ref)
    return replace(result_message(call_id), thread_id="t", content=content, body_hash=body_hash(content))
