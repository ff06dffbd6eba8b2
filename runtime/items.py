"""What a tool or a person sent, brought into the form in which it is stored and shown: bounded, and never empty."""

from runtime import phrases
from runtime.model.entries import ImageItem, Item, TextItem

# What an item costs in its row beside its text: field names and punctuation.
_ITEM_BYTES = 40


def shown_text(text: str, limit_chars: int) -> str:
    """Return the text, cut to the limit with a note that says so."""
    if len(text) <= limit_chars:
        return text
    return text[:limit_chars] + phrases.cut_note(limit_chars, len(text))


def shown_items(items: tuple[Item, ...], limit_chars: int, limit_bytes: int) -> tuple[Item, ...]:
    """Return what the model will see of these items: no empty text, no image, and at least one item.

    A provider refuses an empty text block for ever, so emptiness is mended before it is stored. Each item is cut to
    `limit_chars`; all of them together, as they are stored, stay within `limit_bytes`. A note tells what is missing.
    """
    kept: list[Item] = []
    left_bytes = limit_bytes
    for number, item in enumerate(items):
        text = phrases.IMAGE_NOT_SHOWN if isinstance(item, ImageItem) else shown_text(item.text, limit_chars)
        if not text.strip():
            continue
        size_bytes = len(text.encode()) + _ITEM_BYTES
        if size_bytes > left_bytes:
            fitting = shown_bytes(text, left_bytes - _ITEM_BYTES)
            return (*kept, TextItem(f"{fitting}{phrases.left_out_note(len(items) - number)}"))
        left_bytes -= size_bytes
        kept.append(TextItem(text))
    return tuple(kept) or (TextItem(phrases.NO_OUTPUT),)


def shown_bytes(text: str, limit_bytes: int) -> str:
    """Return as much of the text as fits into so many bytes of UTF-8."""
    encoded = text.encode()
    return text if len(encoded) <= limit_bytes else encoded[: max(0, limit_bytes)].decode(errors="ignore")


def plain_text(items: tuple[Item, ...]) -> str:
    """Return the texts of the items, a line apart, for a person to read."""
    return "\n".join(item.text for item in items if isinstance(item, TextItem))
