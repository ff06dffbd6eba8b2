"""What an answer is made of, before it becomes frames. Scripts and the model's own rules speak in these steps."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from scripts.offline_stack.model_endpoint.document import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class Say:
    """A text block in the given chunks."""

    chunks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool use, its input as JSON text in fragments. No fragment means no delta, as for a tool without arguments.

    ``tool_use_id`` is made from the request when it is not given. A call that is cut has no end of its block.
    """

    name: str
    fragments: tuple[str, ...]
    tool_use_id: str | None = None
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Reason:
    """A reasoning block with its signature; one that is not shown has an empty text and a signature all the same."""

    chunks: tuple[str, ...]
    is_shown: bool = True


@dataclass(frozen=True, slots=True)
class ReasonUnseen:
    """A block of redacted reasoning: opaque bytes made from the hidden text."""

    hidden_text: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The stop reason. Without this step it is ``tool_use`` after a call, else ``end_turn``."""

    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """Usage numbers to report instead of the estimate, under the service's names."""

    usage: JsonObject


@dataclass(frozen=True, slots=True)
class Wait:
    """Silence on the open connection."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Break:
    """An exception within the stream, which ends it."""

    exception: str
    message: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """An HTTP error instead of a stream. Only silence may come before it."""

    exception: str
    message: str
    status: int


@dataclass(frozen=True, slots=True)
class End:
    """How the stream ends instead of by ``messageStop`` and ``metadata``.

    ``missing``: the body ends in good order without them · ``lost``: the connection is closed within the body ·
    ``bare``: with ``messageStop`` but without ``metadata`` · ``garbled``: the last frame's checksum is wrong.
    """

    how: Literal["missing", "lost", "bare", "garbled"]


@dataclass(frozen=True, slots=True)
class Raw:
    """Any event at all, as given."""

    event: str
    payload: dict[str, JsonValue]


Step: TypeAlias = Say | Call | Reason | ReasonUnseen | Stop | Report | Wait | Break | Refuse | End | Raw
