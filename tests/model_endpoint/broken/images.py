"""Requests with images nobody takes."""

from scripts.offline_stack.model_endpoint.rules import (
    images,
)
from tests.model_endpoint.broken.broken_request import BrokenRequest
from tests.model_endpoint.support import (
    HELLO,
    assistant,
    body,
    image,
    png,
    result,
    text,
    use,
    user,
    with_tools,
)

_CALLED = (HELLO, assistant(use("call_1")))

IMAGES: tuple[BrokenRequest, ...] = (
    BrokenRequest(
        "an image of the assistant",
        images.images_are_the_users,
        "Images may only be in user messages.",
        body(HELLO, assistant(text("look"), image(png())), HELLO),
    ),
    BrokenRequest(
        "twenty-one images, one in a result",
        images.images_are_few,
        "too many images and documents: 21 > 20",
        with_tools(*_CALLED, user(result("call_1", image(png())), *[image(png())] * 20)),
    ),
    BrokenRequest(
        "an image over 3.75 MB",
        images.images_are_small,
        "image exceeds 3.75 MB maximum: 4000024 bytes",
        body(user(image(png() + bytes(4_000_000)))),
    ),
    BrokenRequest(
        "a JPEG called PNG",
        images.images_are_what_they_say,
        "specified using the image/png media type, but the image appears to be a image/jpeg image",
        body(user(image(b"\xff\xd8\xff\xe0" + bytes(20)))),
    ),
    BrokenRequest(
        "an image that is none",
        images.images_are_what_they_say,
        "Could not process image",
        with_tools(*_CALLED, user(result("call_1", image(b"<svg></svg>")))),
    ),
    BrokenRequest(
        "an image 8,001 pixels wide",
        images.images_have_few_pixels,
        "At least one of the image dimensions exceed max allowed size: 8000 pixels",
        body(user(image(png(width=8_001)))),
    ),
)
