"""What a delivery brings, before history is looked at."""

from collections.abc import Sequence
from dataclasses import replace

from runtime.errors import PermanentError
from runtime.model.entries import TextItem
from runtime.model.messages import Delivery, EventContent, Message, ResultContent, UndeliveredContent
from runtime.model.threads import Wanted
from runtime.ports import Payloads, Progress
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


def wanted(todo: Sequence[Delivery], performed: int) -> Wanted:
    """Return what a load must bring for these messages."""
    contents = [delivery.message.content for delivery in todo]
    return Wanted(
        keys=tuple(delivery.message.key for delivery in todo),
        call_ids=tuple(
            content.call_id for content in contents if isinstance(content, ResultContent | UndeliveredContent)
        ),
        performed=performed,
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
