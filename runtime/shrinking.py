"""Making a request smaller, for a summary of what no longer fits: what is large and old is left out first. Pure.

The request stays as valid as it was: blocks are made smaller in their places, and only whole exchanges are taken away.
"""

import json
from collections.abc import Callable
from dataclasses import replace

from runtime import phrases
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
)

# Guesses: about as many tokens as providers count for English and code. Whoever is refused again asks for less.
CHARS_PER_TOKEN = 3
_IMAGE_TOKENS = 5_000
_KEPT_OF_A_TEXT_CHARS = 2_000


def shrunk(request: ModelRequest, limit_tokens: int) -> ModelRequest:
    """Return the request below the limit, as far as that can be guessed.

    Oldest first: results lose their content, images included; then long texts and arguments are cut; at last whole
    exchanges go. A summary stays: it is all that is left of what it stands for.
    """
    for smaller in (_without_content, _cut):
        request = _replaced(request, limit_tokens, smaller)
    return _without_oldest(request, limit_tokens)


def _replaced(request: ModelRequest, limit_tokens: int, smaller: Callable[[Block], Block]) -> ModelRequest:
    excess = _tokens_of_request(request) - limit_tokens
    messages = []
    for message in request.messages:
        blocks = []
        for block in message.blocks:
            saved = _tokens(block) - _tokens(smaller(block)) if excess > 0 else 0
            blocks.append(smaller(block) if saved > 0 else block)
            excess -= max(0, saved)
        messages.append(replace(message, blocks=tuple(blocks)))
    return replace(request, messages=tuple(messages))


def _without_content(block: Block) -> Block:
    if isinstance(block, ResultBlock):
        return replace(block, items=(TextItem(phrases.LEFT_OUT_OF_SUMMARY),))
    return block


def _cut(block: Block) -> Block:
    match block:
        case TextBlock(text=text) if len(text) > _KEPT_OF_A_TEXT_CHARS and not _is_summary(block):
            note = phrases.cut_note(_KEPT_OF_A_TEXT_CHARS, len(text))
            return TextBlock(f"{text[:_KEPT_OF_A_TEXT_CHARS]}{note}")
        case CallBlock(arguments=arguments) if len(json.dumps(arguments)) > _KEPT_OF_A_TEXT_CHARS:
            return replace(block, arguments={"arguments": phrases.LEFT_OUT_OF_SUMMARY})
        case _:
            return block


def _without_oldest(request: ModelRequest, limit_tokens: int) -> ModelRequest:
    """Return the request without as many of its oldest exchanges as have to go. The last one stays in any case."""
    messages = request.messages
    excess = _tokens_of_request(request) - limit_tokens
    summary = [block for block in messages[0].blocks if _is_summary(block)]
    start = 0
    for index, message in enumerate(messages[:-1]):
        if excess <= 0:
            break
        if index and _begins_exchange(message):
            excess -= sum(map(_tokens_of_message, messages[start:index]))
            start = index
    if start == 0:
        return request
    first = (*summary, TextBlock(phrases.LEFT_OUT_OF_SUMMARY), *messages[start].blocks)
    return replace(request, messages=(replace(messages[start], blocks=first), *messages[start + 1 :]))


def _begins_exchange(message: ModelMessage) -> bool:
    return message.role == "user" and not any(isinstance(block, ResultBlock) for block in message.blocks)


def _is_summary(block: Block) -> bool:
    return isinstance(block, TextBlock) and block.text.startswith(phrases.SUMMARY_BEGINS)


def _tokens_of_request(request: ModelRequest) -> int:
    tools = sum(len(json.dumps(spec.input_schema)) + len(spec.description) for spec in request.tools)
    messages = sum(map(_tokens_of_message, request.messages))
    return messages + (tools + len(request.system)) // CHARS_PER_TOKEN


def _tokens_of_message(message: ModelMessage) -> int:
    return sum(map(_tokens, message.blocks))


def _tokens(block: Block) -> int:
    match block:
        case TextBlock(text=text):
            return len(text) // CHARS_PER_TOKEN
        case ReasoningBlock(text=shown, redacted=redacted):
            return len(shown or redacted or "") // CHARS_PER_TOKEN
        case CallBlock(arguments=arguments):
            return len(json.dumps(arguments)) // CHARS_PER_TOKEN
        case ResultBlock(items=items):
            return sum(map(tokens_of_item, items))
        case CachePoint():
            return 0


def tokens_of_item(item: Item) -> int:
    return _IMAGE_TOKENS if isinstance(item, ImageItem) else len(item.text) // CHARS_PER_TOKEN
