"""What the first bytes of an image say: its format and its size in pixels."""

from struct import unpack_from

_JPEG_SIZE_MARKERS = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
_UNKNOWN = (0, 0)


def format_of(content: bytes) -> str | None:
    """Return png, jpeg, gif or webp by the magic bytes, nothing for anything else."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if content.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    return None


def size_of(content: bytes) -> tuple[int, int]:
    """Return width and height in pixels, zeros where the header is cut short or of no known format."""
    readers = {"png": _png_size, "gif": _gif_size, "jpeg": _jpeg_size, "webp": _webp_size}
    read = readers.get(format_of(content) or "")
    return read(content) if read else _UNKNOWN


def _png_size(content: bytes) -> tuple[int, int]:
    return unpack_from("!II", content, 16) if len(content) >= 24 else _UNKNOWN


def _gif_size(content: bytes) -> tuple[int, int]:
    return unpack_from("<HH", content, 6) if len(content) >= 10 else _UNKNOWN


def _jpeg_size(content: bytes) -> tuple[int, int]:
    position = 2
    while position + 9 <= len(content):
        marker, length = content[position + 1], int.from_bytes(content[position + 2 : position + 4], "big")
        if marker in _JPEG_SIZE_MARKERS:
            height, width = unpack_from("!HH", content, position + 5)
            return width, height
        position += 2 + length
    return _UNKNOWN


def _webp_size(content: bytes) -> tuple[int, int]:
    kind = content[12:16]
    if kind == b"VP8X" and len(content) >= 30:
        return int.from_bytes(content[24:27], "little") + 1, int.from_bytes(content[27:30], "little") + 1
    if kind == b"VP8 " and len(content) >= 30:
        width, height = unpack_from("<HH", content, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L" and len(content) >= 25:
        bits = int.from_bytes(content[21:25], "little")
        return (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
    return _UNKNOWN
