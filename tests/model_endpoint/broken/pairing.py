"""Requests whose tool uses and results do not pair."""

from scripts.offline_stack.model_endpoint.rules import (
    pairing,
)
from tests.model_endpoint.broken.broken_request import BrokenRequest
from tests.model_endpoint.support import (
    HELLO,
    answered,
    assistant,
    result,
    text,
    use,
    user,
    with_tools,
)

_CALLED = (HELLO, assistant(use("call_1")))

PAIRING: tuple[BrokenRequest, ...] = (
    BrokenRequest(
        "a tool used by the user",
        pairing.tool_blocks_stand_on_their_side,
        "messages.0.content.0: tool_use blocks can only be in assistant messages",
        with_tools(user(use("call_1")), assistant(answered("call_1", "noon")), HELLO),
    ),
    BrokenRequest(
        "arguments that are text",
        pairing.tool_inputs_are_objects,
        "messages.1.content.0.toolUse.input is invalid. Provide a json object",
        with_tools(HELLO, assistant(use("call_1", tool_input="Paris")), user(answered("call_1", "noon"))),
    ),
    BrokenRequest(
        "an id used in two turns",
        pairing.tool_use_ids_are_unique,
        "messages.3.content.0: tool_use ids must be unique",
        with_tools(
            *_CALLED, user(answered("call_1", "noon")), assistant(use("call_1")), user(answered("call_1", "one"))
        ),
    ),
    BrokenRequest(
        "a call without a result",
        pairing.tool_uses_are_answered_at_once,
        "Expected toolResult blocks at messages.2.content for the following Ids: call_1",
        with_tools(*_CALLED, user(text("are you there?"))),
    ),
    BrokenRequest(
        "one of two calls without a result",
        pairing.tool_uses_are_answered_at_once,
        "for the following Ids: call_2",
        with_tools(HELLO, assistant(use("call_1"), use("call_2")), user(answered("call_1", "noon"))),
    ),
    BrokenRequest(
        "a result nobody asked for",
        pairing.results_answer_the_turn_before,
        "toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn",
        with_tools(HELLO, assistant(text("hi")), user(answered("call_1", "noon"))),
    ),
    BrokenRequest(
        "a result of an earlier turn again",
        pairing.results_answer_the_turn_before,
        "toolResult blocks at messages.4.content exceeds",
        with_tools(
            *_CALLED, user(answered("call_1", "noon")), assistant(text("noon")), user(answered("call_1", "noon"))
        ),
    ),
    BrokenRequest(
        "two results of one call",
        pairing.a_tool_use_has_a_single_result,
        "each tool_use must have a single result",
        with_tools(*_CALLED, user(answered("call_1", "noon"), answered("call_1", "one"))),
    ),
    BrokenRequest(
        "a text before the result",
        pairing.results_come_first,
        "Tool results must come before other content.",
        with_tools(*_CALLED, user(text("here it is"), answered("call_1", "noon"))),
    ),
    BrokenRequest(
        "an error that says nothing",
        pairing.error_results_have_content,
        "The content field at messages.2.content.0.toolResult cannot be empty when status value is error.",
        with_tools(*_CALLED, user(result("call_1", status="error"))),
    ),
)
