"""What a delivery brings, before history is looked at."""

from collections.abc import Sequence
from dataclasses import replace

from runtime.draft import Draft
from runtime.errors import PermanentError
from runtime.events import find_their_own_threads, go_to_their_own_threads
from runtime.limits import Limits
from runtime.model.entries import TextItem
from runtime.model.messages import CompactionContent, Delivery, EventContent, Message, ResultContent
from runtime.model.threads import Thread, Wanted
from runtime.ports import History, Payloads, Progress
from runtime.wire.items import unpack_items

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


def with_payloads(message: Message, payloads: Payloads) -> Message:
    """Return the message with its content in it, if that travelled by reference."""
    content = message.content
    if not isinstance(content, ResultContent | EventContent) or content.payload is None:
        return message
    try:
        items = unpack_items(payloads.get(content.payload))
    except PermanentError:
        items = (_UNREADABLE,)
    return replace(message, content=replace(content, items=items, payload=None))
