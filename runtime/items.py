"""What a tool or a person sent, brought into the form in which it is stored and shown: bounded, and never empty."""

from runtime import phrases
from runtime.model.entries import ImageItem, Item, TextItem


def shown_text(text: str, limit_chars: int) -> str:
    """Return the text, cut to the limit with a note that says so."""
    if len(text) <= limit_chars:
        return text
    return text[:limit_chars] + phrases.cut_note(limit_chars, len(text))


def shown_items(items: tuple[Item, ...], limit_chars: int) -> tuple[Item, ...]:
    """Return what the model will see of these items: no empty text, no image, and at least one item.

    A provider refuses an empty text block for ever, so emptiness is mended before it is stored. The limit holds for
    all texts of one message together.
    """
    kept: list[Item] = []
    left = limit_chars
    for item in items:
        text = phrases.IMAGE_NOT_SHOWN if isinstance(item, ImageItem) else item.text
        if not text.strip() or left <= 0:
            continue
        kept.append(TextItem(shown_text(text, left)))
        left -= len(text)
    return tuple(kept) or (TextItem(phrases.NO_OUTPUT),)


def plain_text(items: tuple[Item, ...]) -> str:
    """Return the texts of the items, a line apart, for a person to read."""
    return "\n".join(item.text for item in items if isinstance(item, TextItem))
