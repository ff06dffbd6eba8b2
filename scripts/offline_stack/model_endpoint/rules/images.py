"""Images: whose, how many, how large, and that the bytes are what the format says."""

from collections.abc import Iterator

from scripts.offline_stack.model_endpoint.image_headers import format_of, size_of
from scripts.offline_stack.model_endpoint.request import ConverseRequest, Image, ToolResult

_AT_MOST = 20
_LARGEST_BYTES = 3_932_160  # 3.75 MB
_LONGEST_SIDE_PIXELS = 8_000


def images_are_the_users(request: ConverseRequest) -> str | None:
    for path, message, block in request.placed_blocks():
        if isinstance(block, Image) and message.role == "assistant":
            return f"The image at {path} is in an assistant message. Images may only be in user messages."
    return None


def images_are_few(request: ConverseRequest) -> str | None:
    found = sum(1 for _ in _images(request))
    if found > _AT_MOST:
        return f"The model returned the following errors: too many images and documents: {found} > {_AT_MOST}"
    return None


def images_are_small(request: ConverseRequest) -> str | None:
    for path, image in _images(request):
        if len(image.content) > _LARGEST_BYTES:
            return (
                f"The model returned the following errors: {path}.image.source: image exceeds 3.75 MB maximum: "
                f"{len(image.content)} bytes > {_LARGEST_BYTES} bytes"
            )
    return None


def images_are_what_they_say(request: ConverseRequest) -> str | None:
    for path, image in _images(request):
        found = format_of(image.content)
        if found is None:
            return f"The model returned the following errors: {path}.image.source: Could not process image"
        if found != image.format:
            return (
                f"The model returned the following errors: {path}.image.source.base64.data: The image was specified "
                f"using the image/{image.format} media type, but the image appears to be a image/{found} image"
            )
    return None


def images_have_few_pixels(request: ConverseRequest) -> str | None:
    for path, image in _images(request):
        if max(size_of(image.content)) > _LONGEST_SIDE_PIXELS:
            return (
                f"The model returned the following errors: {path}.image.source: At least one of the image dimensions "
                f"exceed max allowed size: {_LONGEST_SIDE_PIXELS} pixels"
            )
    return None


def _images(request: ConverseRequest) -> Iterator[tuple[str, Image]]:
    for path, _, block in request.placed_blocks():
        inner = enumerate(block.content) if isinstance(block, ToolResult) else ()
        yield from ((f"{path}.toolResult.content.{index}", held) for index, held in inner if isinstance(held, Image))
        if isinstance(block, Image):
            yield path, block
