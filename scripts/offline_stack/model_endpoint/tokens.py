"""A deterministic estimate of tokens: four characters are one token, an image is a fixed number.

The numbers are made from the request alone, cache included: a conversation without an assistant turn writes its
prefix, a longer one reads up to its last but one cache point and writes from there to the last.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from scripts.offline_stack.model_endpoint.document import JsonValue, as_array, as_object
from scripts.offline_stack.model_endpoint.request import ConverseRequest

_CHARACTERS_PER_TOKEN = 4
_IMAGE_TOKENS = 1_600
_SMALLEST_CACHED_TOKENS = 1_024  # the service silently ignores cache points of shorter prefixes


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one completion; input means what was neither read from nor written to the cache."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int

    def as_event(self) -> dict[str, JsonValue]:
        """Return the numbers under the service's names; its total counts the cached tokens as well."""
        total = self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens
        return {
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "totalTokens": total,
            "cacheReadInputTokens": self.cache_read_tokens,
            "cacheWriteInputTokens": self.cache_write_tokens,
        }


def tokens_of(text: str) -> int:
    """Return the estimate for one text, at least 1."""
    return max(1, -(-len(text) // _CHARACTERS_PER_TOKEN))


def input_tokens(request: ConverseRequest) -> int:
    """Return the estimate for everything the model reads: tools, system, messages."""
    return sum(_block_tokens(block) for block in _blocks(request))


def usage_of(request: ConverseRequest, output_tokens: int) -> Usage:
    """Return the usage of answering the request with that many tokens."""
    marks = _cache_marks(request)
    continued = any(message.role == "assistant" for message in request.messages)
    written_to = marks[-1] if marks else 0
    read_to = (marks[-2] if len(marks) > 1 else written_to) if continued else 0
    return Usage(input_tokens(request) - written_to, output_tokens, read_to, written_to - read_to)


def _cache_marks(request: ConverseRequest) -> list[int]:
    total, marks = 0, []
    for block in _blocks(request):
        if "cachePoint" in as_object(block) and total >= _SMALLEST_CACHED_TOKENS:
            marks.append(total)
        total += _block_tokens(block)
    return marks


def _blocks(request: ConverseRequest) -> Iterator[JsonValue]:
    yield from as_array(as_object(request.body.get("toolConfig")).get("tools"))
    yield from as_array(request.body.get("system"))
    for message in as_array(request.body.get("messages")):
        yield from as_array(as_object(message).get("content"))


def _block_tokens(block: JsonValue) -> int:
    content = as_object(block)
    if "cachePoint" in content:
        return 0
    if "image" in content:
        return _IMAGE_TOKENS
    if "toolResult" in content:
        return 1 + sum(_block_tokens(inner) for inner in as_array(as_object(content["toolResult"]).get("content")))
    return tokens_of(json.dumps(block, ensure_ascii=False))
