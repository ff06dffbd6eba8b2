"""Requests with cache points where none may be."""

from scripts.offline_stack.model_endpoint.document import JsonObject
from scripts.offline_stack.model_endpoint.rules import (
    cache_points,
)
from scripts.offline_stack.model_endpoint.signing import signature_of
from tests.model_endpoint.broken.broken_request import BrokenRequest
from tests.model_endpoint.support import (
    CACHE_POINT,
    GET_TIME,
    HELLO,
    assistant,
    body,
    reasoning,
    text,
    user,
)


def _cached(ttl: str) -> JsonObject:
    return {"cachePoint": {"type": "default", "ttl": ttl}}


_SIGNED = reasoning("because", signature_of("because", "because"))

CACHE_POINTS: tuple[BrokenRequest, ...] = (
    BrokenRequest(
        "five cache points",
        cache_points.cache_points_are_few,
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        body(
            user(text("a"), CACHE_POINT, text("b"), CACHE_POINT, text("c"), CACHE_POINT),
            system=[text("be kind"), CACHE_POINT],
            toolConfig={"tools": [GET_TIME, CACHE_POINT]},
        ),
    ),
    BrokenRequest(
        "a cache point at the head of a later message",
        cache_points.cache_points_follow_content,
        "There is nothing available to cache.",
        body(HELLO, assistant(text("hi")), user(CACHE_POINT, text("go on"))),
    ),
    BrokenRequest(
        "a cache point before the system prompt",
        cache_points.cache_points_follow_content,
        "There is nothing available to cache.",
        body(HELLO, system=[CACHE_POINT, text("be kind")]),
    ),
    BrokenRequest(
        "a cache point before the tools",
        cache_points.cache_points_follow_content,
        "There is nothing available to cache.",
        body(HELLO, toolConfig={"tools": [CACHE_POINT, GET_TIME]}),
    ),
    BrokenRequest(
        "a cache point after reasoning",
        cache_points.cache_points_do_not_follow_reasoning,
        "Cache point cannot be inserted after reasoning block.",
        body(HELLO, assistant(_SIGNED, CACHE_POINT, text("hi")), HELLO),
    ),
    BrokenRequest(
        "a long cache point after a short one",
        cache_points.longer_cache_points_come_first,
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
        body(user(text("hello"), _cached("1h")), system=[text("be kind"), _cached("5m")]),
    ),
)
