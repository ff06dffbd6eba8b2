"""Making a request smaller, for a summary of what no longer fits: large and old things are left out first. Pure."""

import json
from collections.abc import Callable
from dataclasses import replace

from runtime import phrases
from runtime.model.entries import ImageItem, Item, TextItem
from runtime.model.turns import Block, CallBlock, ModelMessage, ModelRequest, ResultBlock, TextBlock

# Guesses, on the safe side: providers count up to one token for three characters, and so much for an image.
_CHARS_PER_TOKEN = 3
_IMAGE_TOKENS = 5_000
_KEPT_OF_A_TEXT_CHARS = 2_000


def shrunk(request: ModelRequest, limit_tokens: int) -> ModelRequest:
    """Return the request below the limit: without the content of results, oldest first, and then with texts cut."""
    left_out = _replaced(request, limit_tokens, _without_content)
    return _replaced(left_out, limit_tokens, _cut)


def _replaced(request: ModelRequest, limit_tokens: int, smaller: Callable[[Block], Block]) -> ModelRequest:
    excess = _tokens_of_request(request) - limit_tokens
    messages = []
    for message in request.messages:
        blocks = []
        for block in message.blocks:
            replacement = smaller(block) if excess > 0 else block
            excess -= _tokens(block) - _tokens(replacement)
            blocks.append(replacement)
        messages.append(ModelMessage(message.role, tuple(blocks)))
    return replace(request, messages=tuple(messages))


def _without_content(block: Block) -> Block:
    if isinstance(block, ResultBlock):
        return replace(block, items=(TextItem(phrases.LEFT_OUT_OF_SUMMARY),))
    return block


def _cut(block: Block) -> Block:
    if isinstance(block, TextBlock) and len(block.text) > _KEPT_OF_A_TEXT_CHARS:
        note = phrases.cut_note(_KEPT_OF_A_TEXT_CHARS, len(block.text))
        return TextBlock(f"{block.text[:_KEPT_OF_A_TEXT_CHARS]}{note}")
    return block


def _tokens_of_request(request: ModelRequest) -> int:
    tools = sum(len(json.dumps(spec.input_schema)) + len(spec.description) for spec in request.tools)
    blocks = sum(_tokens(block) for message in request.messages for block in message.blocks)
    return blocks + (tools + len(request.system)) // _CHARS_PER_TOKEN


def _tokens(block: Block) -> int:
    match block:
        case TextBlock(text=text):
            return len(text) // _CHARS_PER_TOKEN
        case CallBlock(arguments=arguments):
            return len(json.dumps(arguments)) // _CHARS_PER_TOKEN
        case ResultBlock(items=items):
            return sum(_tokens_of_item(item) for item in items)
        case _:
            return 0


def _tokens_of_item(item: Item) -> int:
    return _IMAGE_TOKENS if isinstance(item, ImageItem) else len(item.text) // _CHARS_PER_TOKEN
