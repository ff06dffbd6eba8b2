"""RAP, the protocol between the runtime and tool servers: JSON over HTTP, as it crosses the wire.

What a server may say in a manifest and in a callback is read here; what it means is decided in `runtime.tools.manifest`
and `runtime.callbacks`. Field names are the protocol's.
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, ValidationError

from runtime.model.entries import Item, TextItem
from runtime.wire.faults import Wire, field_fault
from runtime.wire.items import WireItems, read_items
from runtime.wire.text import UnreadableJson, decode_json

DISCOVERY_PATH = "/.well-known/rap-toolset"
# Limits of ours: a manifest travels to the model with every request, and is kept in one DynamoDB item.
MAX_MANIFEST_BYTES = 1024 * 1024
MAX_TOOLS = 128
MAX_DESCRIPTION_CHARS = 10_000
MAX_DISPLAY_CHARS = 10_000  # stays inside the queue message, also where the content goes to the payload store

Shape = TypeVar("Shape", bound=Wire)


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


class ResultCallback(Wire):
    """`tool_result`: the answer to the call whose id is `id`. `call_id` is the provider's and matched on nowhere."""

    type: Literal["tool_result"]
    group_id: str
    id: str
    text: str | None = None
    content: WireItems = []  # noqa: RUF012 - pydantic copies defaults
    display_as: str | None = Field(None, max_length=MAX_DISPLAY_CHARS)
    subscription: Annotated[bool, BeforeValidator(lambda given: False if given is None else given)] = False

    @property
    def items(self) -> tuple[Item, ...]:
        """Content that holds something wins over text."""
        text = (TextItem(self.text),) if self.text and self.text.strip() else ()
        return read_items(self.content) or text


def read_manifest(manifest_json: str) -> Manifest:
    """Return the manifest's fields.

    Raises:
        BadBody: not JSON, or a bad field.
    """
    return _read(Manifest, _object(manifest_json.encode("utf-8", "surrogatepass")))


def read_callback(body: bytes) -> ResultCallback:
    """Return what a tool server's POST says.

    Raises:
        BadBody: not JSON, not UTF-8, an unknown `type`, a bad field.
    """
    fields = _object(body)
    if fields.get("type") != "tool_result":
        raise BadBody("type is unknown" if "type" in fields else "type is missing")
    return _read(ResultCallback, fields)


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
