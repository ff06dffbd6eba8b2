"""Reasoning goes back as it came, in front of what it belongs to."""

from itertools import pairwise

from scripts.offline_stack.model_endpoint.request import ConverseRequest, Reasoning, RedactedReasoning, ToolUse
from scripts.offline_stack.model_endpoint.signing import is_redacted_content, is_signed


def reasoning_is_the_assistants(request: ConverseRequest) -> str | None:
    for path, message, block in request.placed_blocks():
        if isinstance(block, Reasoning | RedactedReasoning) and message.role == "user":
            return f"The model returned the following errors: {path}: thinking blocks may only be in assistant messages"
    return None


def reasoning_is_signed(request: ConverseRequest) -> str | None:
    for path, _, block in request.placed_blocks():
        if isinstance(block, Reasoning) and not block.signature:
            return f"The model returned the following errors: {path}.thinking.signature: Field required"
    return None


def reasoning_is_unchanged(request: ConverseRequest) -> str | None:
    for path, _, block in request.placed_blocks():
        match block:
            case Reasoning(text, signature) if signature and not is_signed(text, signature):
                return f"The model returned the following errors: {path}: Invalid `signature` in `thinking` block"
            case RedactedReasoning(content) if not is_redacted_content(content):
                return f"The model returned the following errors: {path}: Invalid `data` in `redacted_thinking` block"
    return None


def reasoning_precedes_something(request: ConverseRequest) -> str | None:
    for message in request.messages:
        if message.blocks and isinstance(message.blocks[-1], Reasoning | RedactedReasoning):
            return (
                f"The model returned the following errors: {message.path}: The final block in an assistant message "
                "cannot be `thinking`."
            )
    return None


def a_thinking_turn_begins_with_reasoning(request: ConverseRequest) -> str | None:
    """With a fixed thinking budget, the turn whose tools were just answered must still carry its reasoning."""
    if request.thinking_budget_tokens is None:
        return None
    for turn, _ in list(pairwise(request.messages))[-1:]:
        begins = isinstance(turn.blocks[0], Reasoning | RedactedReasoning) if turn.blocks else True
        if not begins and any(isinstance(block, ToolUse) for block in turn.blocks):
            return (
                f"The model returned the following errors: {turn.path}.content.0.type: Expected `thinking` or "
                "`redacted_thinking`, but found another block. When `thinking` is enabled, a final `assistant` message "
                "must start with a thinking block."
            )
    return None
