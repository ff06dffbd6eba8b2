"""What a delivery brings, before history is looked at."""

from dataclasses import replace

from runtime import phrases
from runtime.adapters.memory.payloads import MemoryPayloads
from runtime.arrival import arrived, unhandled, wanted
from runtime.model.entries import ImageItem, Item, PayloadRef, TextItem, ToolResult
from runtime.model.messages import Delivery, EventContent, Message, MessageKey, ResultContent, TextContent
from runtime.ports import Progress
from runtime.wire.items import pack_items, unpack_items
from runtime.wire.messages import body_hash
from tests.support.pictures import gif, image_item, png
from tests.support.values import LIMITS, calls, result_message, says, text_message, undelivered_message, wake_message
from tests.support.world import World


def delivery(message: Message, record_id: str = "r1") -> Delivery:
    return Delivery(message, record_id, receive_count=1)


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
    assert result.whole == ref


def test_a_result_whose_content_is_gone_says_so_instead_of_blocking_its_thread() -> None:
    world = World([calls("run_build"), says("Gone.")])
    world.say("build")
    world.settle()
    world.ports.queues.send_inputs([_by_reference(world.calls[0].call_id, PayloadRef("no/such", 5))])
    world.settle()
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]


def test_content_that_is_there_is_left_alone() -> None:
    message = text_message("a")
    assert arrived(message, MemoryPayloads(), LIMITS) is message


def test_an_event_that_travelled_by_reference_is_read_back_with_all_else_it_said() -> None:
    payloads, items = MemoryPayloads(), (TextItem("x" * 300_000),)
    event = EventContent("call_1", (), final=True, payload=payloads.put("t", pack_items(items)))
    message = Message("t", MessageKey("subscription_event", "event:call_1:k"), event, body_hash(event))
    assert arrived(message, payloads, LIMITS).content == replace(event, items=items)


def _by_reference(call_id: str, ref: PayloadRef) -> Message:
    content = ResultContent(call_id, (), payload=ref)
    return replace(result_message(call_id), thread_id="t", content=content, body_hash=body_hash(content))


def test_what_is_too_long_to_be_shown_lies_whole_in_the_store() -> None:
    payloads = MemoryPayloads()
    items = (TextItem("first"), TextItem("x" * 100_001))
    result = arrived(_result(*items), payloads, LIMITS).content
    text = arrived(text_message("y" * 100_001), payloads, LIMITS).content
    assert isinstance(result, ResultContent)
    assert isinstance(text, TextContent)
    assert result.payload is not None
    assert text.payload is not None
    assert unpack_items(payloads.get(result.payload)) == items
    assert unpack_items(payloads.get(text.payload)) == (TextItem("y" * 100_001),)


def test_texts_that_are_short_by_themselves_and_large_together_lie_whole_in_the_store() -> None:
    content = arrived(_result(*[TextItem("\x01" * 20_000)] * 3), MemoryPayloads(), LIMITS).content
    assert isinstance(content, ResultContent)
    assert content.payload is not None


def test_an_image_lies_in_the_store_and_is_known_by_its_bytes() -> None:
    payloads = MemoryPayloads()
    content = arrived(_result(TextItem("see"), image_item(gif(), "image/png")), payloads, LIMITS).content
    assert isinstance(content, ResultContent)
    text, image = content.items
    assert (text, content.payload) == (TextItem("see"), None)
    assert isinstance(image, ImageItem)
    assert image.payload is not None
    assert (image.data, image.media_type, payloads.get(image.payload)) == ("", "image/gif", gif())


def test_an_image_that_travelled_by_reference_lies_in_the_store_by_itself() -> None:
    payloads = MemoryPayloads()
    ref = payloads.put("t", pack_items((image_item(png(size_bytes=300_000)),)))
    content = arrived(_by_reference("call_1", ref), payloads, LIMITS).content
    assert isinstance(content, ResultContent)
    (image,) = content.items
    assert isinstance(image, ImageItem)
    assert image.payload is not None
    assert payloads.get(image.payload) == png(size_bytes=300_000)


def test_an_image_that_no_model_takes_is_a_text_that_says_why() -> None:
    content = arrived(_result(image_item(png(9_000, 1))), MemoryPayloads(), LIMITS).content
    assert isinstance(content, ResultContent)
    assert content.items == (
        TextItem(phrases.image_not_taken("it has 9,000 by 1 pixels, and at most 8,000 a side are taken")),
    )


def test_of_very_many_images_of_one_result_only_the_newest_are_kept() -> None:
    content = arrived(_result(*[image_item(png())] * 25), MemoryPayloads(), LIMITS).content
    assert isinstance(content, ResultContent)
    assert content.items[:5] == (TextItem(phrases.IMAGE_BEFORE_OTHERS),) * 5
    assert all(isinstance(item, ImageItem) for item in content.items[5:])


def _result(*items: Item) -> Message:
    return replace(result_message("call_1"), content=ResultContent("call_1", items))
