"""A neutral model request as the arguments of Bedrock's `converse_stream`. Pure.

The same request always gives the same bytes, key order included: the prompt cache lives on that.
"""

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, assert_never

from runtime.errors import PermanentError
from runtime.model.entries import ImageItem, Item, TextItem
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

# Amazon Bedrock User Guide, "Prompt caching": cache checkpoints per request.
MAX_CACHE_POINTS = 4
IMAGE_FORMATS = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}

# What botocore takes is JSON-like and nested; its own types are far stricter than the service.
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BedrockOptions:
    """What is asked of Bedrock beside the request itself.

    `thinking`: a fixed budget is not offered, since turns the runtime injects have no thinking block. `cache_points`:
    0 for models that refuse them. `stall_s`: a stream, or an answer that has not begun, may be silent for so long.
    """

    model_id: str
    thinking: Literal["off", "adaptive"] = "off"
    cache_points: int = MAX_CACHE_POINTS
    stall_s: float = 120


def converse_arguments(request: ModelRequest, options: BedrockOptions) -> Json:
    """Return the keyword arguments of `converse_stream`.

    Cache points stand after the tools and after the system prompt; of those within messages the newest that fit
    the limit stay, since each covers everything before it.

    Raises:
        PermanentError: an image that is no base64, or of a type the service does not know.
    """
    points_left = options.cache_points
    # maxTokens is never left out: Bedrock would reserve the model's maximum against the account's quota.
    arguments: Json = {"modelId": options.model_id, "inferenceConfig": {"maxTokens": request.max_tokens}}
    if tools := request.tools or _tools_of_history(request.messages):
        arguments["toolConfig"] = {"tools": [*map(_tool, tools), *_cache_point(points_left)]}
        points_left -= 1
    if request.system:
        arguments["system"] = [{"text": request.system}, *_cache_point(points_left)]
        points_left -= 1
    arguments["messages"] = _messages(request.messages, points_left)
    if options.thinking == "adaptive":
        arguments["additionalModelRequestFields"] = {"thinking": {"type": "adaptive"}}
    return arguments


def _cache_point(points_left: int) -> list[Json]:
    return [{"cachePoint": {"type": "default"}}] if points_left > 0 else []


def _tool(tool: ToolSpec) -> Json:
    described = {"description": tool.description} if tool.description else {}
    return {"toolSpec": {"name": tool.name, **described, "inputSchema": {"json": dict(tool.input_schema)}}}


def _tools_of_history(messages: Sequence[ModelMessage]) -> tuple[ToolSpec, ...]:
    """Return a declaration for every tool that was called: Bedrock refuses tool blocks without a toolConfig."""
    blocks = (block for message in messages for block in message.blocks)
    names = dict.fromkeys(block.name for block in blocks if isinstance(block, CallBlock))
    return tuple(ToolSpec(name, "No longer offered. Do not call it.", {"type": "object"}) for name in names)


def _messages(messages: Sequence[ModelMessage], points_left: int) -> list[Json]:
    places = [
        (message_at, block_at)
        for message_at, message in enumerate(messages)
        for block_at, block in enumerate(message.blocks)
        if isinstance(block, CachePoint) and _may_stand(message.blocks, block_at)
    ]
    kept = frozenset(places[-points_left:]) if points_left > 0 else frozenset()
    return [
        _message(
            message.role,
            (
                block
                for block_at, block in enumerate(message.blocks)
                if not isinstance(block, CachePoint) or (message_at, block_at) in kept
            ),
        )
        for message_at, message in enumerate(messages)
    ]


def _may_stand(blocks: Sequence[Block], block_at: int) -> bool:
    # A cache point may open no message, and is refused directly after a reasoning block.
    return block_at > 0 and not isinstance(blocks[block_at - 1], ReasoningBlock | CachePoint)


def _message(role: Literal["user", "assistant"], blocks: Iterable[Block]) -> Json:
    content = [_block(block) for block in blocks]
    if role == "user":
        # Claude refuses a result behind anything else in the message that answers its call.
        content.sort(key=lambda block: "toolResult" not in block)
    return {"role": role, "content": content}


def _block(block: Block) -> Json:
    match block:
        case TextBlock(text):
            return {"text": text}
        case CallBlock(call_id, name, arguments):
            return {"toolUse": {"toolUseId": call_id, "name": name, "input": dict(arguments)}}
        case ResultBlock(call_id, items, status):
            # Success is the default; models that know no status refuse the member.
            failed = {"status": status} if status == "error" else {}
            return {"toolResult": {"toolUseId": call_id, "content": [*map(_item, items)], **failed}}
        case ReasoningBlock():
            return {"reasoningContent": _reasoning(block)}
        case CachePoint():
            return {"cachePoint": {"type": "default"}}
        case _:
            assert_never(block)


def _reasoning(block: ReasoningBlock) -> Json:
    """Return the block exactly as it came: any change and its signature does not hold any more."""
    if block.redacted is not None:
        return {"redactedContent": base64.b64decode(block.redacted)}
    signed = {} if block.signature is None else {"signature": block.signature}
    # Thinking whose text is kept back has a signature alone, but `text` is a required member.
    return {"reasoningText": {"text": block.text or "", **signed}}


def _item(item: Item) -> Json:
    match item:
        case TextItem(text):
            return {"text": text}
        case ImageItem():
            return {"image": _image(item)}
        case _:
            assert_never(item)


def _image(item: ImageItem) -> Json:
    assert item.payload is None, "images are brought before a request is made"
    image_format = IMAGE_FORMATS.get(item.media_type)
    if image_format is None:
        raise PermanentError("an image of a type that Bedrock does not take")
    try:
        content = base64.b64decode(item.data, validate=True)
    except binascii.Error as error:
        raise PermanentError("an image that is not base64") from error
    return {"format": image_format, "source": {"bytes": content}}
