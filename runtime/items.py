"""What a tool, a person or the model said, brought into the form in which it is stored: bounded, and never empty."""

import json
from bisect import bisect_right

from runtime import phrases
from runtime.limits import Limits
from runtime.model.entries import ImageItem, Item, TextItem

# What a text may take that has a row to itself: a value of DSQL may have 1 MiB, of which something else needs a little.
ROW_TEXT_BYTES = 512 * 1024
# What an item costs in its row beside its text: field names and punctuation; of an image, where it lies.
_ITEM_BYTES = 40
_IMAGE_BYTES = 300
_MOST_BYTES_OF_CHARACTER = 6  # a control character, as \u001f


def json_bytes(value: object) -> int:
    """Return what a JSON value takes in a row: UTF-8, in which a control character is written with six bytes."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass"))


def shown_text(text: str, limit_chars: int) -> str:
    """Return the text, cut to the limit with a note that says so."""
    if len(text) <= limit_chars:
        return text
    return text[:limit_chars] + phrases.cut_note(limit_chars, len(text))


def stored_text(text: str, limit_bytes: int = ROW_TEXT_BYTES) -> str:
    """Return the text, cut with a note to so many bytes of a row."""
    fitting = _within(text, limit_bytes)
    return text if fitting == text else f"{fitting}{phrases.cut_note(len(fitting), len(text))}"


def shown(text: str, limits: Limits) -> str:
    """Return what history holds of one text: cut by its characters, and by the bytes that it takes in its row."""
    fitting = len(_within(text, limits.message_bytes))
    return shown_text(text, min(limits.item_chars, fitting))


def shown_items(items: tuple[Item, ...], limits: Limits) -> tuple[Item, ...]:
    """Return what history holds of these items: no empty text, and at least one item.

    A provider refuses an empty text block for ever, so emptiness is mended before it is stored. Each text is cut to
    `item_chars`; all of them together, as they are stored, stay within `message_bytes`. A note tells what is missing.
    """
    kept: list[Item] = []
    left_bytes = limits.message_bytes
    for number, item in enumerate(items):
        cut = item if isinstance(item, ImageItem) else TextItem(shown_text(item.text, limits.item_chars))
        if isinstance(cut, TextItem) and not cut.text.strip():
            continue
        size_bytes = _stored_bytes(cut)
        if size_bytes > left_bytes:
            fitting = _within(cut.text, left_bytes - _ITEM_BYTES) if isinstance(cut, TextItem) else ""
            return (*kept, TextItem(f"{fitting}{phrases.left_out_note(len(items) - number)}"))
        left_bytes -= size_bytes
        kept.append(cut)
    return tuple(kept) or (TextItem(phrases.NO_OUTPUT),)


def are_shown_whole(items: tuple[Item, ...], limits: Limits) -> bool:
    """Whether nothing of these items is cut."""
    fit = all(isinstance(item, ImageItem) or len(item.text) <= limits.item_chars for item in items)
    return fit and sum(map(_stored_bytes, items)) <= limits.message_bytes


def _stored_bytes(item: Item) -> int:
    return _IMAGE_BYTES + len(item.data) if isinstance(item, ImageItem) else _ITEM_BYTES + json_bytes(item.text)


def _within(text: str, limit_bytes: int) -> str:
    """Return as much of the text as fits into so many bytes of a row, without its quotes."""
    if len(text) * _MOST_BYTES_OF_CHARACTER <= limit_bytes:
        return text  # without measuring it, as almost always
    quoted_bytes = limit_bytes + 2
    text = text[: max(0, limit_bytes)]  # a character takes one byte at least, so what is behind need not be measured
    if json_bytes(text) <= quoted_bytes:
        return text
    fitting = bisect_right(range(1, len(text) + 1), quoted_bytes, key=lambda chars: json_bytes(text[:chars]))
    return text[:fitting]


def plain_text(items: tuple[Item, ...]) -> str:
    """Return the items as a person reads them, a line apart."""
    return "\n".join(item.text if isinstance(item, TextItem) else phrases.IMAGE for item in items)
