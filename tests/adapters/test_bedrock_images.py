"""A conversation full of images, and what the service's own rules say to the request that is made of it."""

from collections.abc import Iterator

import pytest

from runtime.adapters.aws.bedrock import BedrockModel
from runtime.adapters.memory.payloads import MemoryPayloads
from runtime.context import rendered
from runtime.errors import PermanentError
from runtime.model.entries import ImageItem, TextItem, ToolResult
from runtime.model.threads import ThreadRow
from runtime.model.turns import ModelMessage, ModelRequest, ResultBlock, SaidText
from runtime.showing import with_images
from tests.support.bedrock import model_at, serving
from tests.support.pictures import gif, image_item, jpeg, png, webp
from tests.support.values import THREAD, asked, called, thread_of

KINDS = [("png", png()), ("gif", gif()), ("jpeg", jpeg()), ("webp", webp())]


@pytest.fixture
def model() -> Iterator[BedrockModel]:
    with serving() as url:
        yield model_at(url)


def album(images: int) -> tuple[ModelMessage, ...]:
    """A conversation whose tool has answered with so many images of every kind."""
    payloads = MemoryPayloads()
    kinds = (KINDS * images)[:images]
    items = tuple(ImageItem("", f"image/{kind}", payloads.put(THREAD, content)) for kind, content in kinds)
    thread = thread_of(asked(), called("call_1"), ToolResult("call_1", (TextItem("see"), *items)))
    return rendered(ThreadRow(THREAD, THREAD), with_images(thread.entries, payloads))


@pytest.mark.parametrize("images", [1, 4, 20, 21, 45])
def test_however_many_images_a_conversation_has_its_request_is_accepted(model: BedrockModel, images: int) -> None:
    completion = model.complete(ModelRequest("You look.", (), album(images), 100), timeout_s=30)
    assert any(isinstance(part, SaidText) for part in completion.parts)


def test_the_rules_would_refuse_one_image_more(model: BedrockModel) -> None:
    *others, last = album(20)
    (result,) = last.blocks
    assert isinstance(result, ResultBlock)
    too_many = ResultBlock("call_1", (*result.items, image_item(png())), "success")
    request = ModelRequest("You look.", (), (*others, ModelMessage("user", (too_many,))), 100)
    with pytest.raises(PermanentError):
        model.complete(request, timeout_s=30)
