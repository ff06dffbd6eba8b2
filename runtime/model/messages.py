"""Messages that wake a thread, as the slice sees them: parsed, authenticated, tagged by what they mean."""

from dataclasses import dataclass

from runtime.model.entries import Item, JsonObject, Origin, PayloadRef


@dataclass(frozen=True, slots=True, order=True)
class MessageKey:
    """The identity of a message within its thread. The type is part of it, so no producer can suppress another's."""

    type: str
    message_id: str


@dataclass(frozen=True, slots=True)
class TextContent:
    """Somebody speaks. `metadata` replaces the root's when this message was sent after the one that set it.

    `payload` is where all of a text lies that is too long to be shown whole.
    """

    text: str
    metadata: JsonObject | None = None
    payload: PayloadRef | None = None


@dataclass(frozen=True, slots=True)
class ResultContent:
    """A tool answers a call. `payload` stands for `items` that travel by reference; once they are here, it stays."""

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


@dataclass(frozen=True, slots=True)
class EventContent:
    """A subscription fires. `associative`: for the thread itself, else a thread of its own handles it.

    `final`: the last one. `payload` as in a result.
    """

    call_id: str
    items: tuple[Item, ...]
    associative: bool = False
    final: bool = False
    payload: PayloadRef | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class ReportContent:
    """A child says something to its parent; `call_id` is the call that began it. `closed`: it is its last word."""

    call_id: str
    child_id: str
    text: str
    closed: bool = False


@dataclass(frozen=True, slots=True)
class ParentContent:
    """A parent says something to its child; `call_id` is the call that began the child."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class BounceContent:
    """A message to a child found it closed; `call_id` is the call that sent it."""

    call_id: str


@dataclass(frozen=True, slots=True)
class TimerContent:
    """The time of a call is over: of a sleep, or that a result may take."""

    call_id: str
    due_ms: int


@dataclass(frozen=True, slots=True)
class CompactionContent:
    """A compaction thread has ended, with a summary of everything up to this position, or without."""

    compaction_id: str
    up_to: int


@dataclass(frozen=True, slots=True)
class OauthContent:
    """A tool needs its user to log in somewhere."""

    call_id: str
    auth_url: str


@dataclass(frozen=True, slots=True)
class ChoiceContent:
    """A tool needs its user to choose. `default` is an index into `choices`."""

    call_id: str
    prompt: str
    choices: tuple[str, ...]
    default: int
    response_url: str
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class ChoiceAnswerContent:
    """The user chose."""

    choice_id: str
    selected: int


Content = (
    TextContent
    | ResultContent
    | UndeliveredContent
    | WakeContent
    | EventContent
    | ReportContent
    | ParentContent
    | BounceContent
    | TimerContent
    | CompactionContent
    | OauthContent
    | ChoiceContent
    | ChoiceAnswerContent
)


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
    """A message as the queue handed it out. `record_id` is the queue's own id."""

    message: Message
    record_id: str
    receive_count: int
