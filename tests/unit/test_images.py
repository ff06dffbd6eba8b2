"""Which images a model takes, and how many of a conversation's."""

import base64
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.images import MAX_BYTES, MAX_BYTES_TOGETHER, MAX_IMAGES, NoImage, left_out, read_image
from tests.support.pictures import gif, image_item, jpeg, png, webp

Make = Callable[[int, int], bytes]
KINDS: list[tuple[str, Make]] = [
    ("png", png),
    ("gif", gif),
    ("jpeg", jpeg),
    ("jpeg", lambda width, height: jpeg(width, height, frame=0xC2)),
    ("jpeg", lambda width, height: jpeg(width, height, fill=b"\xff\xff")),
    ("webp", webp),
    ("webp", lambda width, height: webp(width, height, kind="lossless")),
    ("webp", lambda width, height: webp(width, height, kind="lossy")),
]


@pytest.mark.parametrize(("kind", "make"), KINDS)
@pytest.mark.parametrize(("width", "height"), [(8_000, 1), (1, 8_000)])
def test_an_image_is_what_its_bytes_say(kind: str, make: Make, width: int, height: int) -> None:
    content = make(width, height)
    image = read_image(image_item(content, "image/tiff").data)
    assert (image.media_type, image.content) == (f"image/{kind}", content)


@pytest.mark.parametrize("make", [make for _, make in KINDS])
@pytest.mark.parametrize(("width", "height"), [(8_001, 1), (1, 8_001)])
def test_an_image_with_too_many_pixels_a_side_is_none(make: Make, width: int, height: int) -> None:
    with pytest.raises(NoImage, match=f"it has {width:,} by {height:,} pixels, and at most 8,000 a side"):
        read_image(image_item(make(width, height)).data)


@pytest.mark.parametrize("content", [png()[:20], gif()[:9], jpeg()[:-3], jpeg()[:5], webp()[:28], webp()[:13]])
def test_an_image_whose_header_is_cut_off_is_none(content: bytes) -> None:
    with pytest.raises(NoImage, match="its header does not say its size"):
        read_image(image_item(content).data)


@pytest.mark.parametrize("content", [png(0, 200), jpeg(300, 0), b"\xff\xd8\xff\xe0\0\2plain"])
def test_an_image_without_a_size_is_none(content: bytes) -> None:
    with pytest.raises(NoImage, match="its header does not say its size"):
        read_image(image_item(content).data)


@pytest.mark.parametrize("content", [b"", b"%PDF-1.7", b"<svg/>", b"RIFF\0\0\0\0WAVE", b"GIF88a" + bytes(9)])
def test_what_is_of_no_known_kind_is_none(content: bytes) -> None:
    with pytest.raises(NoImage, match="it is none of png, jpeg, gif and webp"):
        read_image(image_item(content).data)


@pytest.mark.parametrize("data", ["no base64!", "aGk", "grün"])
def test_what_is_not_base64_is_none(data: str) -> None:
    with pytest.raises(NoImage, match="its data is not base64"):
        read_image(data)


def test_base64_may_be_broken_into_lines() -> None:
    assert read_image(base64.encodebytes(png(size_bytes=200)).decode()).content == png(size_bytes=200)


def test_an_image_may_have_so_many_bytes_and_no_more() -> None:
    assert len(read_image(image_item(png(size_bytes=MAX_BYTES)).data).content) == MAX_BYTES
    with pytest.raises(NoImage, match="it has 3,750,001 bytes, and at most 3,750,000 are taken"):
        read_image(image_item(png(size_bytes=MAX_BYTES + 1)).data)


@given(st.sampled_from([png()[:8], gif()[:6], jpeg()[:3], webp()[:12], webp()[:16]]), st.binary(max_size=60))
def test_whatever_a_header_holds_it_is_judged(start: bytes, rest: bytes) -> None:
    with suppress(NoImage):
        assert read_image(image_item(start + rest).data).content == start + rest


def test_twenty_images_are_all_sent_and_one_more_frees_half_of_the_room() -> None:
    assert [left_out([1] * number) for number in (0, 1, 20, 21, 30, 31)] == [0, 0, 0, 10, 10, 20]


_sizes = st.lists(st.integers(0, MAX_BYTES), max_size=70)


@given(_sizes)
def test_what_is_sent_fits_and_has_the_newest_image(sizes: list[int]) -> None:
    sent = sizes[left_out(sizes) :]
    assert len(sent) <= MAX_IMAGES
    assert sum(sent) <= MAX_BYTES_TOGETHER
    assert sent[-1:] == sizes[-1:]


@given(_sizes)
def test_what_is_left_out_changes_seldom(sizes: list[int]) -> None:
    steps = [left_out(sizes[:number]) for number in range(len(sizes) + 1)]
    changes = [number for number, (before, after) in enumerate(pairwise(steps)) if before != after]
    assert steps == sorted(steps)
    for first, second in pairwise(changes):
        came_between = sizes[first:second]
        assert len(came_between) >= MAX_IMAGES // 2 or sum(came_between) >= MAX_BYTES_TOGETHER // 2 - MAX_BYTES
