"""What a delivery brings, before history is looked at."""

from collections.abc import Sequence
from dataclasses import replace

from runtime import phrases
from runtime.draft import Draft
from runtime.errors import PermanentError
from runtime.events import find_their_own_threads, go_to_their_own_threads
from runtime.images import MAX_IMAGES, NoImage, read_image
from runtime.items import are_shown_whole
from runtime.limits import Limits
from runtime.model.entries import ImageItem, Item, PayloadRef, TextItem
from runtime.model.messages import CompactionContent, Delivery, EventContent, Message, ResultContent, TextContent
from runtime.model.threads import Thread, Wanted
from runtime.ports import History, Payloads, Progress
from runtime.wire.items import pack_items, unpack_items

_UNREADABLE = TextItem("Error: what the tool sent was too large to pass on and could not be read back.")


def unhandled(deliveries: Sequence[Delivery], progress: Progress) -> tuple[Delivery, ...]:
    """Return the deliveries whose messages have no receipt, in order; the same message twice is one."""
    first_of_key = {delivery.message.key: delivery for delivery in reversed(deliveries)}
    return tuple(
        delivery
        for delivery in deliveries
        if delivery.message.key not in progress.receipts and first_of_key[delivery.message.key] is delivery
    )


def loaded(thread_id: str, todo: Sequence[Delivery], performed: int, history: History, limits: Limits) -> Thread:
    """Return the thread with what these messages need of it.

    Events that go to threads of their own are routed without reading a history that may be long; where it then turns
    out that one of them stays here, or that something is owed, it is read after all.
    """
    messages = [delivery.message for delivery in todo]
    want = wanted(messages, performed)
    if find_their_own_threads(messages):
        thread = history.load(thread_id, replace(want, entries="owed"))
        if go_to_their_own_threads(Draft.of(thread), messages, limits):
            return thread
    return history.load(thread_id, want)


def wanted(messages: Sequence[Message], performed: int) -> Wanted:
    """Return what a load must bring for these messages."""
    contents = [message.content for message in messages]
    return Wanted(
        keys=tuple(message.key for message in messages),
        call_ids=tuple(content.call_id for content in contents if hasattr(content, "call_id")),
        performed=performed,
        summary_ids=tuple(content.compaction_id for content in contents if isinstance(content, CompactionContent)),
    )


def arrived(message: Message, payloads: Payloads, limits: Limits) -> Message:
    """Return the message as history takes it, after what its rows will refer to is in the payload store.

    Content that travelled by reference is in it. Images lie in the store, each by itself; one that no model takes is a
    text that says so. Where not all of it can be shown, `payload` is where all of it lies.

    Raises:
        RetryableError: the payload store did not answer.
    """
    content = message.content
    if isinstance(content, TextContent):
        kept = _kept_whole(message.thread_id, (TextItem(content.text),), payloads, limits)
        return message if kept is None else replace(message, content=replace(content, payload=kept))
    if not isinstance(content, ResultContent | EventContent):
        return message
    items, kept = content.items, content.payload
    if kept is not None:
        items = _read_back(kept, payloads)
    else:
        kept = _kept_whole(message.thread_id, items, payloads, limits)
    light = _with_images_apart(message.thread_id, items, payloads)
    return replace(message, content=replace(content, items=light, payload=kept))


def _read_back(ref: PayloadRef, payloads: Payloads) -> tuple[Item, ...]:
    try:
        return unpack_items(payloads.get(ref))
    except PermanentError:
        return (_UNREADABLE,)


def _kept_whole(thread_id: str, items: tuple[Item, ...], payloads: Payloads, limits: Limits) -> PayloadRef | None:
    texts = tuple(item for item in items if isinstance(item, TextItem))
    return None if are_shown_whole(texts, limits) else payloads.put(thread_id, pack_items(items))


def _with_images_apart(thread_id: str, items: tuple[Item, ...], payloads: Payloads) -> tuple[Item, ...]:
    """Put the newest images, as many as a request may show, into the store, and refer to them."""
    images = [index for index, item in enumerate(items) if isinstance(item, ImageItem)]
    too_old = frozenset(images[:-MAX_IMAGES])
    return tuple(
        TextItem(phrases.IMAGE_BEFORE_OTHERS) if index in too_old else _light(thread_id, item, payloads)
        for index, item in enumerate(items)
    )


def _light(thread_id: str, item: Item, payloads: Payloads) -> Item:
    if not isinstance(item, ImageItem):
        return item
    try:
        image = read_image(item.data)
    except NoImage as fault:
        return TextItem(phrases.image_not_taken(str(fault)))
    return ImageItem("", image.media_type, payloads.put(thread_id, image.content))
