"""What Bedrock is asked: the arguments of converse_stream, and that the service's own rules find no fault in them."""

import base64
from typing import Any

import pytest

from runtime.adapters.aws.bedrock_request import BedrockOptions, converse_arguments
from runtime.errors import PermanentError
from runtime.model.entries import ImageItem, TextItem
from runtime.model.turns import (
    Block,
    CachePoint,
    CallBlock,
    ModelMessage,
    ModelRequest,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
    ToolSpec,
)

OPTIONS = BedrockOptions("test.model")
POINT = {"cachePoint": {"type": "default"}}
CLOCK = ToolSpec("get_time", "Tells the time.", {"type": "object", "properties": {"city": {"type": "string"}}})
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


def user(*blocks: Block) -> ModelMessage:
    return ModelMessage("user", blocks)


def assistant(*blocks: Block) -> ModelMessage:
    return ModelMessage("assistant", blocks)


def request(*messages: ModelMessage, system: str = "Be brief.", tools: tuple[ToolSpec, ...] = (CLOCK,)) -> ModelRequest:
    return ModelRequest(system, tools, messages, max_tokens=512)


def contents(*messages: ModelMessage, options: BedrockOptions = OPTIONS) -> list[list[dict[str, Any]]]:
    return [message["content"] for message in converse_arguments(request(*messages), options)["messages"]]


def test_a_request_names_the_model_and_always_bounds_what_is_written() -> None:
    arguments = converse_arguments(request(user(TextBlock("Hello"))), OPTIONS)
    assert arguments["modelId"] == "test.model"
    assert arguments["inferenceConfig"] == {"maxTokens": 512}
    assert arguments["messages"] == [{"role": "user", "content": [{"text": "Hello"}]}]


def test_cache_points_stand_behind_tools_and_behind_the_system_prompt() -> None:
    arguments = converse_arguments(request(user(TextBlock("Hello"))), OPTIONS)
    assert arguments["system"] == [{"text": "Be brief."}, POINT]
    assert arguments["toolConfig"]["tools"] == [
        {
            "toolSpec": {
                "name": "get_time",
                "description": "Tells the time.",
                "inputSchema": {"json": CLOCK.input_schema},
            }
        },
        POINT,
    ]


def test_without_system_prompt_and_tools_neither_is_sent() -> None:
    arguments = converse_arguments(request(user(TextBlock("Hello")), system="", tools=()), OPTIONS)
    assert arguments.keys() == {"modelId", "inferenceConfig", "messages"}


def test_a_tool_without_description_sends_none_since_an_empty_one_is_refused() -> None:
    arguments = converse_arguments(
        request(user(TextBlock("x")), tools=(ToolSpec("t", "", {"type": "object"}),)), OPTIONS
    )
    assert arguments["toolConfig"]["tools"][0] == {
        "toolSpec": {"name": "t", "inputSchema": {"json": {"type": "object"}}}
    }


def test_of_too_many_cache_points_the_newest_stay() -> None:
    messages = [user(TextBlock(f"{turn}"), CachePoint()) for turn in range(12)]
    found = contents(*messages)
    assert [content.count(POINT) for content in found] == [0] * 10 + [1, 1]


def test_a_model_that_refuses_cache_points_is_sent_none() -> None:
    options = BedrockOptions("test.model", cache_points=0)
    arguments = converse_arguments(request(user(TextBlock("a"), CachePoint())), options)
    assert str(arguments).count("cachePoint") == 0


@pytest.mark.parametrize(
    "blocks",
    [
        (CachePoint(), TextBlock("a")),
        (ReasoningBlock("hm", "c2ln"), CachePoint(), TextBlock("a")),
        (CachePoint(), CachePoint(), TextBlock("a")),
    ],
)
def test_a_cache_point_where_the_service_refuses_one_is_left_out(blocks: tuple[Block, ...]) -> None:
    assert POINT not in contents(assistant(*blocks))[0]


def test_a_cache_point_is_a_block_of_its_own_even_behind_a_result() -> None:
    result = ResultBlock("call_1", (TextItem("noon"),), "success")
    content = contents(user(TextBlock("a")), assistant(CallBlock("call_1", "get_time", {})), user(result, CachePoint()))
    assert content[2] == [{"toolResult": {"toolUseId": "call_1", "content": [{"text": "noon"}]}}, POINT]


def test_results_come_first_in_the_message_that_answers_a_call() -> None:
    result = ResultBlock("call_1", (TextItem("noon"),), "success")
    content = contents(user(TextBlock("before"), result, TextBlock("after")))[0]
    assert [next(iter(block)) for block in content] == ["toolResult", "text", "text"]
    assert content[1:] == [{"text": "before"}, {"text": "after"}]


def test_a_call_keeps_our_id_and_the_order_of_its_arguments() -> None:
    arguments = {"zone": "Asia/Tokyo", "city": "Tōkyō"}
    (content,) = contents(assistant(TextBlock("Let me look."), CallBlock("call_0a1b", "get_time", arguments)))
    assert content[1] == {"toolUse": {"toolUseId": "call_0a1b", "name": "get_time", "input": arguments}}
    assert list(content[1]["toolUse"]["input"]) == ["zone", "city"]


def test_only_a_failed_result_carries_a_status() -> None:
    content = contents(user(ResultBlock("c", (TextItem("Error: no"),), "error")))[0]
    assert content[0]["toolResult"]["status"] == "error"


@pytest.mark.parametrize(
    ("block", "sent"),
    [
        (ReasoningBlock(" hm \n", "c2ln"), {"reasoningText": {"text": " hm \n", "signature": "c2ln"}}),
        (ReasoningBlock("", "c2ln"), {"reasoningText": {"text": "", "signature": "c2ln"}}),
        (ReasoningBlock(None, "c2ln"), {"reasoningText": {"text": "", "signature": "c2ln"}}),
        (ReasoningBlock("unsigned", None), {"reasoningText": {"text": "unsigned"}}),
        (ReasoningBlock(None, None, base64.b64encode(b"\x00\xff").decode()), {"redactedContent": b"\x00\xff"}),
    ],
)
def test_reasoning_goes_back_exactly_as_it_came(block: ReasoningBlock, sent: object) -> None:
    assert contents(assistant(block, TextBlock("So.")))[0][0] == {"reasoningContent": sent}


@pytest.mark.parametrize(
    ("media_type", "image_format"),
    [("image/png", "png"), ("image/jpeg", "jpeg"), ("image/gif", "gif"), ("image/webp", "webp")],
)
def test_an_image_is_sent_as_bytes_with_its_format(media_type: str, image_format: str) -> None:
    (content,) = contents(user(ResultBlock("c", (TextItem("see"), ImageItem(PNG, media_type)), "success")))
    image = {"format": image_format, "source": {"bytes": base64.b64decode(PNG)}}
    assert content[0]["toolResult"]["content"] == [{"text": "see"}, {"image": image}]


@pytest.mark.parametrize("item", [ImageItem(PNG, "image/tiff"), ImageItem("no base64!", "image/png")])
def test_an_image_that_cannot_be_sent_is_refused_for_good(item: ImageItem) -> None:
    with pytest.raises(PermanentError):
        converse_arguments(request(user(ResultBlock("c", (item,), "success"))), OPTIONS)


def test_a_history_of_calls_still_declares_their_tools_when_none_is_offered_any_more() -> None:
    messages = (
        user(TextBlock("a")),
        assistant(CallBlock("c1", "gone", {})),
        user(ResultBlock("c1", (TextItem("x"),), "success")),
        assistant(CallBlock("c2", "gone", {})),
        user(ResultBlock("c2", (TextItem("x"),), "success")),
    )
    tools = converse_arguments(request(*messages, tools=()), OPTIONS)["toolConfig"]["tools"]
    assert [tool["toolSpec"]["name"] for tool in tools if "toolSpec" in tool] == ["gone"]


def test_thinking_is_asked_for_only_adaptively() -> None:
    said = request(user(TextBlock("a")))
    assert "additionalModelRequestFields" not in converse_arguments(said, OPTIONS)
    adaptive = converse_arguments(said, BedrockOptions("test.model", thinking="adaptive"))
    assert adaptive["additionalModelRequestFields"] == {"thinking": {"type": "adaptive"}}
