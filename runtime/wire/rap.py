"""RAP, the protocol between the runtime and tool servers: JSON over HTTP, as it crosses the wire.

What a server may say in a manifest and in a callback is read here; what it means is decided in `runtime.tools.manifest`
and `runtime.callbacks`. Field names are the protocol's.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from runtime.model.entries import Item, TextItem
from runtime.wire.faults import Shape, Wire, field_fault
from runtime.wire.items import WireItems, read_items
from runtime.wire.shapes import WebUrl, Wish
from runtime.wire.text import UnreadableJson, decode_json

DISCOVERY_PATH = "/.well-known/rap-toolset"
# Limits of ours: a manifest travels to the model with every request, and is kept in one DynamoDB item.
MAX_MANIFEST_BYTES = 1024 * 1024
MAX_TOOLS = 128
MAX_DESCRIPTION_CHARS = 10_000
MAX_DISPLAY_CHARS = 10_000  # stays inside the queue message, also where the content goes to the payload store
MAX_VIEW_TYPE_CHARS = 128  # part of a key in DynamoDB

# Where a flag is null, it is not set.
Flag = Annotated[bool, BeforeValidator(lambda given: False if given is None else given)]


class BadBody(ValueError):
    """A body that is not what the protocol says. The message names the field and never repeats its value."""


class ToolOfManifest(Wire):
    """`name` is judged by `runtime.tools.manifest`, so that every bad one is named in one report."""

    name: str
    description: str = Field("", max_length=MAX_DESCRIPTION_CHARS)
    inputSchema: dict[str, Any]  # noqa: N815 - the protocol's name
    annotations: dict[str, Any] | None = None


class Manifest(Wire):
    name: str = Field(min_length=1, max_length=128)
    endpoint: str = Field(min_length=1, max_length=2_048)
    tools: list[ToolOfManifest] = Field(min_length=1, max_length=MAX_TOOLS)


class _AboutCall(Wire):
    """`id` is the call's. What a server says as `call_id` is the model provider's and matched on nowhere."""

    group_id: str
    id: str


class ResultCallback(_AboutCall):
    """The answer to the call."""

    type: Literal["tool_result"]
    text: str | None = None
    content: WireItems = []  # noqa: RUF012 - pydantic copies defaults
    display_as: str | None = Field(None, max_length=MAX_DISPLAY_CHARS)
    subscription: Flag = False

    @property
    def items(self) -> tuple[Item, ...]:
        """Content that holds something wins over text."""
        text = (TextItem(self.text),) if self.text and self.text.strip() else ()
        return read_items(self.content) or text


class EventCallback(Wire):
    """The subscription that the call began fires."""

    type: Literal["subscription_event"]
    group_id: str
    id: str = Field(alias="tool_call_id")
    text: str
    associative: Flag = False
    final: Flag = False
    event_id: str | None = None

    @property
    def items(self) -> tuple[Item, ...]:
        return (TextItem(self.text),) if self.text.strip() else ()


class OauthCallback(_AboutCall):
    """The tool waits until its user has logged in there."""

    type: Literal["oauth"]
    auth_url: WebUrl
    event_id: str | None = None


class ChoiceCallback(_AboutCall, Wish):
    """The tool waits until its user has chosen."""

    type: Literal["user_choice"]
    event_id: str | None = None


class ViewCallback(Wire):
    """The newest of what is to be shown beside the thread. `content` is the tool's and the front end's own affair."""

    type: Literal["view_update"]
    group_id: str
    view_type: str = Field(min_length=1, max_length=MAX_VIEW_TYPE_CHARS)
    content: Any
    event_id: str | None = None


Callback = ResultCallback | EventCallback | OauthCallback | ChoiceCallback | ViewCallback
_CALLBACKS: Mapping[str, type[Callback]] = {
    "tool_result": ResultCallback,
    "subscription_event": EventCallback,
    "oauth": OauthCallback,
    "user_choice": ChoiceCallback,
    "view_update": ViewCallback,
}


def read_manifest(manifest_json: str) -> Manifest:
    """Return the manifest's fields.

    Raises:
        BadBody: not JSON, or a bad field.
    """
    return _read(Manifest, _object(manifest_json.encode("utf-8", "surrogatepass")))


def read_callback(body: bytes) -> Callback:
    """Return what a tool server's POST says.

    Raises:
        BadBody: not JSON, not UTF-8, an unknown `type`, a bad field.
    """
    fields = _object(body)
    given = fields.get("type")
    shape = _CALLBACKS.get(given) if isinstance(given, str) else None
    if shape is None:
        raise BadBody("type is unknown" if "type" in fields else "type is missing")
    return _read(shape, fields)


def _object(body: bytes) -> dict[str, Any]:
    try:
        fields = decode_json(body)
    except UnreadableJson as error:
        raise BadBody(f"body is {error}") from error
    if not isinstance(fields, dict):
        raise BadBody("body is not a JSON object")
    return fields


def _read(shape: type[Shape], fields: dict[str, Any]) -> Shape:
    try:
        return shape.model_validate(fields)
    except ValidationError as error:
        raise BadBody(field_fault(error)) from error
