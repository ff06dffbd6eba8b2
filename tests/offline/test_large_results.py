"""The example tools that send much: a picture, and a text of three million characters, on a real deployment."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from handlers.example_tools import HUGE_CHARS
from runtime.images import read_image
from runtime.model.entries import TextItem
from runtime.wire.items import unpack_items
from scripts.commands.messages import TextMessage
from scripts.commands.target import offline_target
from scripts.offline_stack.stack import OfflineStack
from tests.offline.conversations import Conversation, gather, wait_for_answers
from tests.offline.outside import Outside
from tests.support.pictures import image_item

TOOLS = ("picture", "huge")


@pytest.fixture(scope="module")
def spoken(stack: OfflineStack) -> Mapping[str, Conversation]:
    """Two threads, each of which has called one of the tools and answered; by the name of the tool."""
    outside = Outside(stack, offline_target(stack))
    threads = {tool: f"{tool}-{outside.run}" for tool in TOOLS}
    for tool, thread_id in threads.items():
        script = json.dumps([{"call": tool, "input": {}}])
        outside.send(thread_id, TextMessage(thread_id, f"In {thread_id}: call it. [[script: {script}]]").body)
    wait_for_answers(stack, dict.fromkeys(threads.values(), 1))
    found = gather(stack, outside.target, list(threads.values()))
    return {tool: found[thread_id] for tool, thread_id in threads.items()}


def result(conversation: Conversation) -> dict[str, Any]:
    """The fields of the one result in history."""
    (entry,) = [entry for entry in conversation.entries if entry.kind == "tool_result"]
    return dict(entry.body)


def displayed(conversation: Conversation) -> str:
    """What a person is shown of it."""
    (output,) = conversation.outputs_of("tool_result")
    return str(output.fields["display"])


def kept(stack: OfflineStack, ref: Mapping[str, Any]) -> bytes:
    """What the payload bucket holds."""
    bucket = stack.outputs["PayloadBucketName"]
    content: bytes = stack.client("s3").get_object(Bucket=bucket, Key=ref["key"])["Body"].read()
    return content


@pytest.mark.parametrize("tool", TOOLS)
def test_the_conversation_goes_on_and_its_rows_stay_small(spoken: Mapping[str, Conversation], tool: str) -> None:
    conversation = spoken[tool]
    assert [entry.kind for entry in conversation.entries] == ["user", "tool_call", "tool_result", "assistant"]
    assert len(json.dumps(result(conversation))) < 110_000


def test_the_model_is_shown_the_picture(spoken: Mapping[str, Conversation]) -> None:
    assert "(an image in png)" in spoken["picture"].answers()[0]


def test_the_picture_lies_in_the_bucket_and_a_person_is_told_of_it(
    stack: OfflineStack, spoken: Mapping[str, Conversation]
) -> None:
    (item,) = result(spoken["picture"])["items"]
    assert (item["data"], item["media_type"]) == ("", "image/png")
    assert read_image(image_item(kept(stack, item["payload"])).data).media_type == "image/png"
    assert displayed(spoken["picture"]) == "[image]"


def test_the_model_is_shown_the_beginning_and_the_bucket_has_it_all(
    stack: OfflineStack, spoken: Mapping[str, Conversation]
) -> None:
    stored = result(spoken["huge"])
    (shown,) = stored["items"]
    assert shown["text"].endswith(f"[Cut: the first 100000 of {HUGE_CHARS} characters are shown.]")
    (whole,) = unpack_items(kept(stack, stored["whole"]))
    assert isinstance(whole, TextItem)
    assert (len(whole.text), whole.text[:100_000]) == (HUGE_CHARS, shown["text"][:100_000])


def test_a_person_is_shown_the_beginning_of_the_text(spoken: Mapping[str, Conversation]) -> None:
    display = displayed(spoken["huge"])
    assert display.startswith("This line is one of a great many")
    assert len(display) < 21_000
