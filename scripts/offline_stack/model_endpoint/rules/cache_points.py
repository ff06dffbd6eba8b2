"""Cache points: how many, where, and in which order of life."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from scripts.offline_stack.model_endpoint.request import (
    Block,
    CachePoint,
    ConverseRequest,
    Reasoning,
    RedactedReasoning,
    Tool,
)

_AT_MOST = 4


def cache_points_are_few(request: ConverseRequest) -> str | None:
    found = len(_cache_points(request))
    if found <= _AT_MOST:
        return None
    return (
        f"The model returned the following errors: A maximum of {_AT_MOST} blocks with cache_control may be provided. "
        f"Found {found}."
    )


def cache_points_follow_content(request: ConverseRequest) -> str | None:
    """A point at the head of its own list has nothing to keep, whatever other lists hold."""
    if any(isinstance(blocks[0], CachePoint) for blocks in _lists(request) if blocks):
        return "There is nothing available to cache."
    return None


def cache_points_do_not_follow_reasoning(request: ConverseRequest) -> str | None:
    for one, other in _neighbours(request):
        if isinstance(one, Reasoning | RedactedReasoning) and isinstance(other, CachePoint):
            return (
                "Cache point cannot be inserted after reasoning block. "
                "Please remove the invalid cache point and try again."
            )
    return None


def longer_cache_points_come_first(request: ConverseRequest) -> str | None:
    """Lives are compared over the whole request, in the order tools, system, messages."""
    for one, other in pairwise(_cache_points(request)):
        if (one.ttl, other.ttl) == ("5m", "1h"):
            return (
                "The model returned the following errors: a ttl='1h' cache_control block must not come after a "
                "ttl='5m' cache_control block. Note that blocks are processed in the following order: tools, system, "
                "messages."
            )
    return None


def _lists(request: ConverseRequest) -> Iterator[Sequence[Block | Tool]]:
    yield request.tools
    yield request.system
    yield from (message.blocks for message in request.messages)


def _neighbours(request: ConverseRequest) -> Iterator[tuple[Block | Tool, Block | Tool]]:
    for blocks in _lists(request):
        yield from pairwise(blocks)


def _cache_points(request: ConverseRequest) -> list[CachePoint]:
    return [block for blocks in _lists(request) for block in blocks if isinstance(block, CachePoint)]
