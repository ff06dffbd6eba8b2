"""Images as far as anybody here reads them: their first bytes, and as many behind as are wanted."""

import base64
from struct import pack

from runtime.model.entries import ImageItem

_JPEG_START = b"\xff\xd8\xff\xe0" + pack(">H", 6) + b"JFIF"


def png(width: int = 300, height: int = 200, *, size_bytes: int = 0) -> bytes:
    return (b"\x89PNG\r\n\x1a\n" + pack(">I4sII", 13, b"IHDR", width, height)).ljust(size_bytes, b"\0")


def gif(width: int = 300, height: int = 200) -> bytes:
    return b"GIF89a" + pack("<HH", width, height)


def jpeg(width: int = 300, height: int = 200, *, frame: int = 0xC0, fill: bytes = b"") -> bytes:
    tables = b"\xff\xc4" + pack(">H", 4) + b"\xff\xc0"  # what looks like a frame in here is none
    return _JPEG_START + tables + fill + bytes((0xFF, frame)) + pack(">HBHH", 17, 8, height, width)


def webp(width: int = 300, height: int = 200, *, kind: str = "extended") -> bytes:
    match kind:
        case "extended":
            sides = (side.to_bytes(3, "little") for side in (width - 1, height - 1))
            return _riff(b"VP8X" + bytes(8) + b"".join(sides))
        case "lossless":
            return _riff(b"VP8L" + bytes(4) + b"\x2f" + pack("<I", (width - 1) | (height - 1) << 14))
        case _:
            return _riff(b"VP8 " + bytes(7) + b"\x9d\x01\x2a" + pack("<HH", width, height))


def _riff(chunk: bytes) -> bytes:
    return b"RIFF" + pack("<I", len(chunk) + 4) + b"WEBP" + chunk


def image_item(content: bytes, media_type: str = "image/png") -> ImageItem:
    """The image as a tool sends it."""
    return ImageItem(base64.b64encode(content).decode(), media_type)
