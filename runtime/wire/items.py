"""The content of a tool's result, as tool servers and queue messages write it.

Tool servers are loose about it, so reading is too: a bare string, a single item, a list of either, nothing at all.
Blank texts are left out, because models refuse them; nothing but blanks is no item at all.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from runtime.errors import PermanentError
from runtime.model.entries import ImageItem, Item, JsonObject, TextItem
from runtime.wire.faults import Wire
from runtime.wire.text import UnreadableJson, canonical_json, decode_json


class WireText(Wire):
    type: Literal["text"]
    text: str


class WireImage(Wire):
    type: Literal["image"]
    data: str
    mediaType: str  # noqa: N815 - the protocol's name


def _as_item(given: object) -> object:
    return {"type": "text", "text": given} if isinstance(given, str) else given


def _as_items(given: object) -> object:
    if given is None:
        return []
    return [_as_item(item) for item in (given if isinstance(given, list) else [given])]


WireItems = Annotated[
    list[Annotated[WireText | WireImage, Field(discriminator="type")]],
    BeforeValidator(_as_items, json_schema_input_type=Any),
]
_ITEMS: TypeAdapter[list[WireText | WireImage]] = TypeAdapter(WireItems)


def read_items(given: Sequence[WireText | WireImage]) -> tuple[Item, ...]:
    """Return the items, those of them that hold something."""
    return tuple(
        TextItem(item.text) if isinstance(item, WireText) else ImageItem(item.data, item.mediaType)
        for item in given
        if isinstance(item, WireImage) or item.text.strip()
    )


def write_items(items: Sequence[Item]) -> list[JsonObject]:
    """Return the items as JSON."""
    return [
        {"type": "text", "text": item.text}
        if isinstance(item, TextItem)
        else {"type": "image", "data": item.data, "mediaType": item.media_type}
        for item in items
    ]


def pack_items(items: Sequence[Item]) -> bytes:
    """Return the bytes under which items are kept in the payload store."""
    return canonical_json(write_items(items)).encode()


def unpack_items(content: bytes) -> tuple[Item, ...]:
    """Return the items that `pack_items` made these bytes of.

    Raises:
        PermanentError: the bytes are not ours.
    """
    try:
        return read_items(_ITEMS.validate_python(decode_json(content)))
    except (UnreadableJson, ValidationError) as error:
        raise PermanentError("a stored payload cannot be read") from error
