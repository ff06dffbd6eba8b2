"""Every tool use of a turn is answered in the one next user message, exactly."""

from collections import Counter
from collections.abc import Iterator

from scripts.offline_stack.model_endpoint.request import ConverseRequest, Message, ToolResult, ToolUse


def tool_uses_are_answered_at_once(request: ConverseRequest) -> str | None:
    for position, (turn, answer) in enumerate(_turns_with_answers(request)):
        answered = {result.tool_use_id for result in _results(answer)}
        missing = [use.tool_use_id for use in _uses(turn) if use.tool_use_id not in answered]
        if missing:
            return (
                f"Expected toolResult blocks at messages.{position + 1}.content for the following Ids: "
                f"{', '.join(missing)}"
            )
    return None


def results_answer_the_turn_before(request: ConverseRequest) -> str | None:
    """A result for a call of another turn, or for none, is refused wherever it stands."""
    asked: set[str] = set()
    for message in request.messages:
        if any(result.tool_use_id not in asked for result in _results(message)):
            return (
                f"The number of toolResult blocks at {message.path}.content exceeds the number of toolUse blocks "
                "of previous turn."
            )
        asked = {use.tool_use_id for use in _uses(message)}
    return None


def a_tool_use_has_a_single_result(request: ConverseRequest) -> str | None:
    for message in request.messages:
        for tool_use_id, count in Counter(result.tool_use_id for result in _results(message)).items():
            if count > 1:
                return (
                    f"The model returned the following errors: {message.path}.content: each tool_use must have a "
                    f"single result. Found multiple tool_result blocks with id: {tool_use_id}"
                )
    return None


def tool_use_ids_are_unique(request: ConverseRequest) -> str | None:
    seen: set[str] = set()
    for path, _, block in request.placed_blocks():
        if not isinstance(block, ToolUse):
            continue
        if block.tool_use_id in seen:
            return f"The model returned the following errors: {path}: tool_use ids must be unique"
        seen.add(block.tool_use_id)
    return None


def results_come_first(request: ConverseRequest) -> str | None:
    for message in request.messages:
        kinds = [isinstance(block, ToolResult) for block in message.blocks]
        if sorted(kinds, reverse=True) != kinds:
            return (
                f"The model returned the following errors: {message.path}: tool_use ids were found without tool_result "
                "blocks immediately after. Tool results must come before other content."
            )
    return None


def tool_blocks_stand_on_their_side(request: ConverseRequest) -> str | None:
    """Only the assistant uses tools, only the user answers them."""
    for path, message, block in request.placed_blocks():
        side = {ToolUse: "assistant", ToolResult: "user"}.get(type(block), message.role)
        if message.role != side:
            return (
                f"The model returned the following errors: {path}: tool_use blocks can only be in assistant messages, "
                "tool_result blocks only in user messages"
            )
    return None


def error_results_have_content(request: ConverseRequest) -> str | None:
    for path, _, block in request.placed_blocks():
        if isinstance(block, ToolResult) and block.is_error and not block.content:
            return f"The content field at {path}.toolResult cannot be empty when status value is error."
    return None


def tool_inputs_are_objects(request: ConverseRequest) -> str | None:
    for path, _, block in request.placed_blocks():
        if isinstance(block, ToolUse) and not isinstance(block.input, dict):
            return (
                f"The format of the value at {path}.toolUse.input is invalid. "
                "Provide a json object for the field and try again."
            )
    return None


def _turns_with_answers(request: ConverseRequest) -> Iterator[tuple[Message, Message]]:
    following = [*request.messages[1:], Message(f"messages.{len(request.messages)}", "user", ())]
    return zip(request.messages, following, strict=False)


def _uses(message: Message) -> Iterator[ToolUse]:
    return (block for block in message.blocks if isinstance(block, ToolUse))


def _results(message: Message) -> Iterator[ToolResult]:
    return (block for block in message.blocks if isinstance(block, ToolResult))
