"""What a model is shown of a conversation's images."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from runtime import phrases
from runtime.adapters.memory.payloads import MemoryPayloads
from runtime.context import rendered
from runtime.images import left_out
from runtime.model.entries import Entry, Event, ImageItem, Item, PayloadRef, TextItem, ToolResult
from runtime.model.threads import ThreadRow
from runtime.model.turns import ModelRequest, ResultBlock
from runtime.settings import Settings
from runtime.showing import with_images, without_images
from runtime.wire.rows import body_json, read_body
from tests.support.pictures import gif, image_item, png
from tests.support.values import THREAD, answered, asked, calls, says, thread_of
from tests.support.world import World

ROW = ThreadRow(THREAD, THREAD)


def kept(payloads: MemoryPayloads, content: bytes, media_type: str = "image/png") -> ImageItem:
    return ImageItem("", media_type, payloads.put(THREAD, content))


def event(*items: Item) -> Event:
    return Event("call_1", "look", {}, items, "event:call_1:k", "subscription")


def album(payloads: MemoryPayloads, number: int) -> tuple[Entry, ...]:
    """A history of so many events, each with a picture of its own and a word."""
    pictures = [kept(payloads, png(width=position)) for position in range(1, number + 1)]
    return thread_of(asked(), answered(), *(event(TextItem("look"), picture) for picture in pictures)).entries


def items_shown(entries: tuple[Entry, ...]) -> list[Item]:
    return [item for entry in entries if isinstance(entry.body, Event | ToolResult) for item in entry.body.items]


def test_an_image_is_brought_for_the_model_where_it_stands() -> None:
    payloads = MemoryPayloads()
    entries = thread_of(asked(), answered(), event(TextItem("a"), kept(payloads, gif(), "image/gif"), TextItem("b")))
    shown = items_shown(with_images(entries.entries, payloads))
    assert shown == [TextItem("a"), image_item(gif(), "image/gif"), TextItem("b")]


def test_what_has_no_image_is_left_alone() -> None:
    entries = thread_of(asked(), answered(), event(TextItem("a"))).entries
    assert with_images(entries, MemoryPayloads()) == entries
    assert without_images(entries) == entries


def test_only_the_newest_images_are_brought_and_no_other_is_even_read() -> None:
    payloads = MemoryPayloads()
    entries = album(payloads, 23)
    reads = Reads(payloads)
    images = [item for item in items_shown(with_images(entries, reads)) if item != TextItem("look")]
    assert images[:10] == [TextItem(phrases.IMAGE_OF_LONG_AGO)] * 10
    assert images[10:] == [image_item(png(width=number)) for number in range(11, 24)]
    assert len(reads.keys) == 13


class Reads(MemoryPayloads):
    """Notes which keys were read of another store."""

    def __init__(self, payloads: MemoryPayloads) -> None:
        super().__init__()
        self._payloads = payloads
        self.keys: list[str] = []

    def get(self, ref: PayloadRef) -> bytes:
        self.keys.append(ref.key)
        return self._payloads.get(ref)


def test_a_history_with_one_image_more_begins_with_the_same_bytes_nine_times_of_ten() -> None:
    payloads = MemoryPayloads()
    entries = album(payloads, 50)
    requests = [rendered(ROW, with_images(entries[: 2 + images], payloads)) for images in range(1, 51)]
    steps = enumerate(pairwise(requests), start=1)
    changed = [images for images, (before, after) in steps if after[: len(before)] != before]
    assert changed == [20, 30, 40]
    assert left_out([1] * 50) == 30


def test_an_image_that_is_lost_leaves_a_text_instead_of_blocking_its_thread() -> None:
    lost = ImageItem("", "image/png", PayloadRef("no/such", 5))
    entries = thread_of(asked(), answered(), event(lost)).entries
    assert items_shown(with_images(entries, MemoryPayloads())) == [TextItem(phrases.IMAGE_LOST)]


def test_images_of_what_was_withheld_are_not_read_and_take_no_room() -> None:
    payloads = MemoryPayloads()
    *others, last = album(payloads, 21)
    withheld = [replace(entry, withheld="model_refused") for entry in others[2:4]]
    shown = with_images((*others[:2], *withheld, *others[4:], last), payloads)
    assert TextItem(phrases.IMAGE_OF_LONG_AGO) not in items_shown(shown)
    assert shown[2:4] == tuple(withheld)


def test_a_model_that_reads_text_only_is_told_that_there_was_an_image() -> None:
    entries = album(MemoryPayloads(), 1)
    assert items_shown(without_images(entries)) == [TextItem("look"), TextItem(phrases.IMAGE_OF_TEXT_MODEL)]


def test_what_is_stored_and_loaded_is_asked_in_the_same_bytes() -> None:
    payloads = MemoryPayloads()
    entries = album(payloads, 25)
    loaded = tuple(replace(entry, body=read_body(entry.body.kind, body_json(entry.body).decode())) for entry in entries)
    assert rendered(ROW, with_images(loaded, payloads)) == rendered(ROW, with_images(entries, payloads))


def looked(**settings: Any) -> tuple[World, ModelRequest]:
    """A world whose tool has answered with a picture, and what the model was asked then."""
    world = World([calls("run_build"), says("Nice.")], **settings)
    world.on_call = lambda call: call.answer("see", images=[png()])
    world.say("look")
    world.settle()
    return world, world.model.seen[-1]


def test_a_tools_picture_is_seen_by_the_model_and_is_in_no_row() -> None:
    world, request = looked()
    block = request.messages[-1].blocks[0]
    assert isinstance(block, ResultBlock)
    assert block.items == (TextItem("see"), image_item(png()))
    stored = world.entries[2].body
    assert isinstance(stored, ToolResult)
    assert image_item(png()).data not in body_json(stored).decode()


def test_a_person_is_told_of_a_picture() -> None:
    world, _ = looked()
    assert ("tool_result", f"see\n{phrases.IMAGE}") in world.outputs()


def test_without_image_input_the_picture_is_kept_for_a_model_that_has_it() -> None:
    world, request = looked(model_images=False)
    block = request.messages[-1].blocks[0]
    assert isinstance(block, ResultBlock)
    assert block.items == (TextItem("see"), TextItem(phrases.IMAGE_OF_TEXT_MODEL))
    shown = items_shown(with_images(world.entries, world.ports.payloads))
    assert shown == [TextItem("see"), image_item(png())]


@pytest.mark.parametrize(
    ("given", "shows"),
    [
        ({}, True),
        ({"model_id": "eu.anthropic.claude-haiku-4-5"}, True),
        ({"model_id": "openai.gpt-oss-120b-1:0"}, False),
        ({"model_id": "amazon.nova-pro-v1:0", "model_images": "true"}, True),
        ({"model_images": "false"}, False),
    ],
)
def test_images_are_sent_to_models_that_are_known_or_said_to_read_them(given: dict[str, str], shows: bool) -> None:
    assert Settings.model_validate(given).shows_images is shows
