from struct import pack

import pytest

from scripts.offline_stack.model_endpoint.image_headers import format_of, size_of
from tests.model_endpoint.support import png

_JPEG_START = b"\xff\xd8\xff\xe0" + pack("!H", 6) + b"JFIF"
_RIFF = b"RIFF\0\0\0\0WEBP"

IMAGES = {
    "png": png(300, 200),
    "gif": b"GIF89a" + pack("<HH", 300, 200),
    "jpeg": _JPEG_START + b"\xff\xc0" + pack("!HBHH", 17, 8, 200, 300),
    "webp": _RIFF + b"VP8X" + bytes(8) + (299).to_bytes(3, "little") + (199).to_bytes(3, "little"),
}
OTHER_WEBP = (
    _RIFF + b"VP8L" + bytes(5) + (299 | 199 << 14).to_bytes(4, "little"),
    _RIFF + b"VP8 " + bytes(10) + pack("<HH", 300, 200),
)


@pytest.mark.parametrize(("image_format", "content"), IMAGES.items())
def test_an_images_first_bytes_say_its_format_and_size(image_format: str, content: bytes) -> None:
    assert (format_of(content), size_of(content)) == (image_format, (300, 200))


@pytest.mark.parametrize("content", OTHER_WEBP)
def test_every_kind_of_webp_says_its_size(content: bytes) -> None:
    assert size_of(content) == (300, 200)


@pytest.mark.parametrize("content", [content[:12] for content in (*IMAGES.values(), *OTHER_WEBP)])
def test_an_image_cut_in_its_header_has_no_size(content: bytes) -> None:
    assert size_of(content[:8] if content.startswith(b"GIF") else content) == (0, 0)


def test_other_bytes_are_no_image() -> None:
    assert (format_of(b"%PDF"), size_of(b"%PDF")) == (None, (0, 0))
