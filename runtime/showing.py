"""Images of a history, brought before a request is made of it: making it stays pure."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat

from runtime import phrases
from runtime.errors import PermanentError
from runtime.images import left_out
from runtime.model.entries import Entry, Event, ImageItem, Item, TextItem, ToolResult
from runtime.ports import Payloads


def with_images(entries: Sequence[Entry], payloads: Payloads) -> tuple[Entry, ...]:
    """Return the entries with their newest images, as many as a request may have; a text stands for each other one.

    Raises:
        RetryableError: the payload store did not answer.
    """
    images = [image for entry in entries for image in _images(entry)]
    if not images:
        return tuple(entries)
    older = left_out([_size_bytes(image) for image in images])
    long_ago = repeat(TextItem(phrases.IMAGE_OF_LONG_AGO), older)
    newest = (_brought(image, payloads) for image in images[older:])
    stand_ins = chain[Item](long_ago, newest)
    return tuple(_replaced(entry, stand_ins) for entry in entries)


def without_images(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the entries for a model that reads text only."""
    stand_ins = repeat(TextItem(phrases.IMAGE_OF_TEXT_MODEL))
    return tuple(_replaced(entry, stand_ins) for entry in entries)


def _images(entry: Entry) -> list[ImageItem]:
    """Return the images that the model would be shown of this entry."""
    if entry.withheld or not isinstance(entry.body, ToolResult | Event):
        return []
    return [item for item in entry.body.items if isinstance(item, ImageItem)]


def _size_bytes(image: ImageItem) -> int:
    return len(image.data) * 3 // 4 if image.payload is None else image.payload.size_bytes


def _brought(image: ImageItem, payloads: Payloads) -> Item:
    if image.payload is None:
        return image
    try:
        content = payloads.get(image.payload)
    except PermanentError:
        return TextItem(phrases.IMAGE_LOST)
    return replace(image, data=base64.b64encode(content).decode(), payload=None)


def _replaced(entry: Entry, stand_ins: Iterator[Item]) -> Entry:
    """Return the entry with the next of these in place of each image."""
    if not _images(entry):
        return entry
    body = entry.body
    assert isinstance(body, ToolResult | Event)
    items = tuple(next(stand_ins) if isinstance(item, ImageItem) else item for item in body.items)
    return replace(entry, body=replace(body, items=items))
