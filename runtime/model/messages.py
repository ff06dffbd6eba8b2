"""Messages that wake a thread, as the slice sees them: parsed, authenticated, tagged by what they mean."""

from dataclasses import dataclass

from runtime.model.entries import Item, JsonObject, Origin


@dataclass(frozen=True, slots=True, order=True)
class MessageKey:
    """The identity of a message within its thread. The type is part of it, so no producer can suppress another's."""

    type: str
    message_id: str


@dataclass(frozen=True, slots=True)
class PayloadRef:
    """Content too large for a queue message, kept in the payload store under this key."""

    key: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class TextContent:
    """Somebody speaks. `metadata` replaces the root's when this message was sent after the one that set it."""

    text: str
    metadata: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ResultContent:
    """A tool answers a call. `payload` stands for `items` that travel by reference."""

    call_id: str
    items: tuple[Item, ...]
    subscription: bool = False
    payload: PayloadRef | None = None
    origin: Origin | None = None
    display_as: str | None = None


@dataclass(frozen=True, slots=True)
class UndeliveredContent:
    """A call could not be handed over, or nobody knows. `reason` is a sentence for the model."""

    call_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class WakeContent:
    """Look at the tail and answer it if it asks. `attempt` counts give-ups in a row."""

    attempt: int = 0


Content = TextContent | ResultContent | UndeliveredContent | WakeContent


@dataclass(frozen=True, slots=True)
class Message:
    """`body_hash` tells a repeat from a different message under the same identity."""

    thread_id: str
    key: MessageKey
    content: Content
    body_hash: str
    sent_ms: int = 0


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message as the queue handed it out. `record_id` is the queue's own id, `handle` the right to finish it."""

    message: Message
    record_id: str
    handle: str
    receive_count: int
    first_received_ms: int
