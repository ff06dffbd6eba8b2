"""The rows of a conversation. The last visible one alone says what the thread waits for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

# JSON as a model or a tool server wrote it; its shape is the tool's own affair.
JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TextItem:
    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class PayloadRef:
    """Content too large for a message or a row, kept in the payload store under this key."""

    key: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ImageItem:
    """`data` is base64. `payload` stands for it in history, where images are kept by reference."""

    data: str
    media_type: str
    payload: PayloadRef | None = None
    type: Literal["image"] = "image"


Item = TextItem | ImageItem


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one completion, as the provider counts them."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


@dataclass(frozen=True, slots=True)
class Finish:
    """How a completion ended; stands on the last entry the model itself made, so that outputs derive from rows."""

    stop: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Origin:
    """Where something that a tool server sent came from."""

    toolset: str
    call_id: str
    received_at_ms: int


@dataclass(frozen=True, slots=True)
class CancelledCall:
    """A call whose server is to be told that nobody waits any more."""

    call_id: str
    toolset: str


# What is to be done beside a result, kept with the result so that it can be done again. Where they are stored, their
# fields tell them apart: no two of them may require the same ones.


@dataclass(frozen=True, slots=True)
class Spawned:
    """A child thread began."""

    child_id: str
    instructions: str


@dataclass(frozen=True, slots=True)
class ToldChild:
    """A child is sent a message; `spawn_call_id` is the call that began it."""

    told_id: str
    spawn_call_id: str
    message: str


@dataclass(frozen=True, slots=True)
class Reported:
    """The parent is sent a report."""

    report: str


@dataclass(frozen=True, slots=True)
class Closed:
    """The thread closed. An empty report is none."""

    last_report: str


@dataclass(frozen=True, slots=True)
class StoppedTimer:
    """A timer of a call is not needed any more."""

    timed_call_id: str


Deed = Spawned | ToldChild | Reported | Closed | StoppedTimer


@dataclass(frozen=True, slots=True)
class UserText:
    """`cause` is the id of the message that brought it; None where the runtime itself says something.

    `whole` is where all of a text lies that was cut.
    """

    text: str
    cause: str | None = None
    whole: PayloadRef | None = None
    kind: Literal["user"] = "user"


@dataclass(frozen=True, slots=True)
class AssistantText:
    """Empty text is a turn without words; it is shown to the model as `(no reply)`.

    `reports`: the text goes to the parent as well; `report` is what goes there, where the turn said more than this
    text. `closes`: with it, the thread closed.
    """

    text: str
    finish: Finish | None = None
    reports: bool = False
    closes: bool = False
    report: str = ""
    kind: Literal["assistant"] = "assistant"


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Byte-identical as the provider signed it. `redacted` is base64; either it or `text` is given."""

    text: str | None = None
    signature: str | None = None
    redacted: str | None = None
    kind: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """`not_run` names further calls of the same completion, which were not stored and not run."""

    call_id: str
    name: str
    arguments: JsonObject
    provider_call_id: str | None = None
    not_run: tuple[str, ...] = ()
    finish: Finish | None = None
    kind: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one answer to a call. `cause` is None when the runtime itself answered within the turn.

    `whole` is where all of the items lie, as they came, if they may not all be here.
    """

    call_id: str
    items: tuple[Item, ...]
    status: Literal["success", "error"] = "success"
    cause: str | None = None
    origin: Origin | None = None
    cancelled: CancelledCall | None = None
    display_as: str | None = None
    deed: Deed | None = None
    whole: PayloadRef | None = None
    kind: Literal["tool_result"] = "tool_result"


EventSource = Literal["late_result", "undelivered", "subscription", "report", "parent_message", "bounce"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that arrived by itself about an earlier call: one row, shown to the model as a call and its result.

    `whole` as in a result.
    """

    call_id: str
    name: str
    arguments: JsonObject
    items: tuple[Item, ...]
    cause: str
    source: EventSource
    status: Literal["success", "error"] = "success"
    origin: Origin | None = None
    display_as: str | None = None
    cancelled: CancelledCall | None = None
    whole: PayloadRef | None = None
    kind: Literal["event"] = "event"


Body = UserText | AssistantText | Reasoning | ToolCall | ToolResult | Event


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of history. Positions are dense from 1; entries of one completion share a turn.

    `withheld` holds the code of the error that made the model unable to see this entry; it is shown as one line.
    """

    position: int
    turn: int
    body: Body
    created_ms: int
    withheld: str | None = None

    @property
    def asks(self) -> bool:
        """Whether a history that ends here waits for the model."""
        return isinstance(self.body, UserText | ToolResult | Event)
