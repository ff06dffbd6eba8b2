"""Images as tools send them: which of them a model takes, judged by their bytes, never by what is claimed. Pure.

The limits are those of Bedrock's Converse API: 3.75 MB and 8,000 pixels a side for one image, 20 images in a request.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from struct import error as TooShort  # noqa: N812 - what it says when a header ends too early
from struct import unpack_from

MAX_BYTES = 3_750_000
MAX_SIDE_PIXELS = 8_000
MAX_IMAGES = 20
# A request to Claude on Bedrock may have 20 MB, in which an image takes a third more than its bytes.
MAX_BYTES_TOGETHER = 12_000_000
# Where not all fit, so many stay: the next ones then find room without any change in front of them.
_KEPT_IMAGES = MAX_IMAGES // 2
_KEPT_BYTES = MAX_BYTES_TOGETHER // 2
# Start-of-frame markers of JPEG; of those in this range three mean something else (ITU-T T.81, table B.1).
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


class NoImage(ValueError):
    """What was given is no image that a model takes. The message says why, for the model to read."""


@dataclass(frozen=True, slots=True)
class Image:
    media_type: str
    content: bytes


def read_image(data: str) -> Image:
    """Return the image that this base64 holds.

    Raises:
        NoImage: a model would refuse it, and with it every later request that shows it.
    """
    try:
        content = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise NoImage("its data is not base64") from error
    kind = _format_of(content)
    if kind is None:
        raise NoImage("it is none of png, jpeg, gif and webp")
    if len(content) > MAX_BYTES:
        raise NoImage(f"it has {len(content):,} bytes, and at most {MAX_BYTES:,} are taken")
    sides = _size_of(kind, content)
    if min(sides) < 1:
        raise NoImage("its header does not say its size")
    if max(sides) > MAX_SIDE_PIXELS:
        raise NoImage(f"it has {sides[0]:,} by {sides[1]:,} pixels, and at most {MAX_SIDE_PIXELS:,} a side are taken")
    return Image(f"image/{kind}", content)


def left_out(sizes_bytes: Sequence[int]) -> int:
    """Return how many of a request's images, oldest first, are not sent, so that the newest ones fit.

    What is left out changes bytes that a provider has cached. So whenever another one does not fit any more, half of
    the room is made free, and not again before that is used up. The newest image is always sent.
    """
    first, together_bytes = 0, 0
    for index, size_bytes in enumerate(sizes_bytes):
        if index - first == MAX_IMAGES or together_bytes + size_bytes > MAX_BYTES_TOGETHER:
            while index - first > _KEPT_IMAGES or together_bytes > _KEPT_BYTES:
                together_bytes -= sizes_bytes[first]
                first += 1
        together_bytes += size_bytes
    return first


def _format_of(content: bytes) -> str | None:
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if content.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    return "webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


def _size_of(kind: str, content: bytes) -> tuple[int, int]:
    """Return width and height in pixels; zeros where the header does not say."""
    try:
        match kind:
            case "png":
                return unpack_from(">II", content, 16)
            case "gif":
                return unpack_from("<HH", content, 6)
            case "jpeg":
                return _jpeg_size(content)
            case _:
                return _webp_size(content)
    except TooShort:
        return 0, 0


def _jpeg_size(content: bytes) -> tuple[int, int]:
    """Walk from segment to segment, each of which says its length, to the one that describes the frame."""
    at = 2
    while True:
        sign, marker, length = unpack_from(">BBH", content, at)
        if sign != 0xFF:
            return 0, 0
        if marker == 0xFF:  # a marker may stand behind any number of fill bytes
            at += 1
        elif marker in _JPEG_FRAMES:
            height, width = unpack_from(">HH", content, at + 5)
            return width, height
        else:
            at += 2 + length


def _webp_size(content: bytes) -> tuple[int, int]:
    match content[12:16]:
        case b"VP8X":
            low_width, high_width, low_height, high_height = unpack_from("<HBHB", content, 24)
            return (high_width << 16 | low_width) + 1, (high_height << 16 | low_height) + 1
        case b"VP8L":
            (bits,) = unpack_from("<I", content, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = unpack_from("<HH", content, 26)
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return 0, 0
