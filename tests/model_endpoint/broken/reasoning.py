"""Requests whose reasoning does not come back as it was."""

from base64 import b64encode

from scripts.offline_stack.model_endpoint.document import JsonObject
from scripts.offline_stack.model_endpoint.rules import reasoning as reasoning_rules
from scripts.offline_stack.model_endpoint.signing import redacted_content_of, signature_of
from tests.model_endpoint.broken.broken_request import BrokenRequest
from tests.model_endpoint.support import (
    HELLO,
    answered,
    assistant,
    body,
    reasoning,
    text,
    use,
    user,
    with_tools,
)


def _thinking(budget_tokens: int) -> JsonObject:
    return {"thinking": {"type": "enabled", "budget_tokens": budget_tokens}}


_SIGNED = reasoning("because", signature_of("because", "because"))

_REDACTED = b64encode(redacted_content_of("because")).decode()

_CALLED = (HELLO, assistant(use("call_1")))

REASONING: tuple[BrokenRequest, ...] = (
    BrokenRequest(
        "reasoning of the user",
        reasoning_rules.reasoning_is_the_assistants,
        "thinking blocks may only be in assistant messages",
        body(user(_SIGNED, text("hello"))),
    ),
    BrokenRequest(
        "reasoning without a signature",
        reasoning_rules.reasoning_is_signed,
        "messages.1.content.0.thinking.signature: Field required",
        body(HELLO, assistant(reasoning("because", None), text("hi")), HELLO),
    ),
    BrokenRequest(
        "reasoning with other words",
        reasoning_rules.reasoning_is_unchanged,
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        body(HELLO, assistant(reasoning("why not", signature_of("because", "because")), text("hi")), HELLO),
    ),
    BrokenRequest(
        "reasoning with a made-up signature",
        reasoning_rules.reasoning_is_unchanged,
        "Invalid `signature` in `thinking` block",
        body(HELLO, assistant(reasoning("because", "c2lnbmVk"), text("hi")), HELLO),
    ),
    BrokenRequest(
        "a signature that is no base64",
        reasoning_rules.reasoning_is_unchanged,
        "Invalid `signature` in `thinking` block",
        body(HELLO, assistant(reasoning("because", "signed!"), text("hi")), HELLO),
    ),
    BrokenRequest(
        "redacted reasoning with other bytes",
        reasoning_rules.reasoning_is_unchanged,
        "Invalid `data` in `redacted_thinking` block",
        body(HELLO, assistant({"reasoningContent": {"redactedContent": _REDACTED[4:]}}, text("hi")), HELLO),
    ),
    BrokenRequest(
        "reasoning behind what it belongs to",
        reasoning_rules.reasoning_precedes_something,
        "The final block in an assistant message cannot be `thinking`.",
        body(HELLO, assistant(text("hi"), _SIGNED), HELLO),
    ),
    BrokenRequest(
        "a thinking turn without its reasoning",
        reasoning_rules.a_thinking_turn_begins_with_reasoning,
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`",
        {
            **with_tools(*_CALLED, user(answered("call_1", "noon"))),
            "inferenceConfig": {"maxTokens": 5000},
            "additionalModelRequestFields": _thinking(2000),
        },
    ),
)
