"""Requests against the service's published model."""

from scripts.offline_stack.model_endpoint.rules import (
    structure,
)
from tests.model_endpoint.broken.broken_request import BrokenRequest
from tests.model_endpoint.support import (
    CACHE_POINT,
    HELLO,
    answered,
    assistant,
    body,
    result,
    text,
    tool,
    use,
    user,
    with_tools,
)

_CALLED = (HELLO, assistant(use("call_1")))

STRUCTURE: tuple[BrokenRequest, ...] = (
    BrokenRequest(
        "a number written as text",
        structure.values_have_their_types,
        "inferenceConfig.maxTokens is not of type integer",
        {**body(HELLO), "inferenceConfig": {"maxTokens": "1000"}},
    ),
    BrokenRequest(
        "metadata that is no text",
        structure.values_have_their_types,
        "requestMetadata.attempt is not of type string",
        body(HELLO, requestMetadata={"attempt": 1}),
    ),
    BrokenRequest(
        "a tool use without a name",
        structure.required_members_are_present,
        "'messages.2.member.content.1.member.toolUse.name' failed to satisfy constraint: Member must not be null",
        with_tools(
            HELLO, assistant({"toolUse": {"toolUseId": "call_1", "input": {}}}), user(answered("call_1", "noon"))
        ),
    ),
    BrokenRequest(
        "a cache point in the block it should follow",
        structure.unions_hold_one_member,
        "ContentBlock object at messages.0.content.0 can only set one of the following keys: text, image",
        body(user({**text("hello"), **CACHE_POINT})),
    ),
    BrokenRequest(
        "a cache point inside a tool result",
        structure.unions_hold_one_member,
        "ToolResultContentBlock object at messages.2.content.0.toolResult.content.1 must set one of the following keys",
        with_tools(*_CALLED, user(result("call_1", text("noon"), CACHE_POINT))),
    ),
    BrokenRequest(
        "a block of no known kind",
        structure.unions_hold_one_member,
        "must set one of the following keys",
        body(user(text("hello"), {"riddle": "?"})),
    ),
    BrokenRequest(
        "a cache point of another type",
        structure.fixed_words_are_known,
        "Member must satisfy enum value set: [default]",
        body(user(text("hello"), {"cachePoint": {"type": "ephemeral"}})),
    ),
    BrokenRequest(
        "a result of no known status",
        structure.fixed_words_are_known,
        "Member must satisfy enum value set: [success, error]",
        with_tools(*_CALLED, user(result("call_1", text("noon"), status="failed"))),
    ),
    BrokenRequest(
        "a dot in a tool's name",
        structure.names_and_ids_match_their_patterns,
        "'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint: "
        "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
        body(HELLO, toolConfig={"tools": [tool("fs.read")]}),
    ),
    BrokenRequest(
        "a blank in a called tool's name",
        structure.names_and_ids_match_their_patterns,
        "toolUse.name' failed to satisfy constraint",
        with_tools(HELLO, assistant(use("call_1", "Complete Session")), user(answered("call_1", "noon"))),
    ),
    BrokenRequest(
        "a blank in a tool-use id",
        structure.names_and_ids_match_their_patterns,
        "Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+",
        with_tools(HELLO, assistant(use("call 1")), user(answered("call 1", "noon"))),
    ),
    BrokenRequest(
        "a tool's name of 65 characters",
        structure.lengths_are_within_limits,
        "Member must have length less than or equal to 64",
        body(HELLO, toolConfig={"tools": [tool("a" * 65)]}),
    ),
    BrokenRequest(
        "a tool-use id of 65 characters",
        structure.lengths_are_within_limits,
        "Member must have length less than or equal to 64",
        with_tools(HELLO, assistant(use("a" * 65)), user(answered("a" * 65, "noon"))),
    ),
    BrokenRequest(
        "tools declared, but none",
        structure.lengths_are_within_limits,
        "'toolConfig.tools' failed to satisfy constraint: Member must have length greater than or equal to 1",
        body(*_CALLED, user(answered("call_1", "noon")), toolConfig={"tools": []}),
    ),
    BrokenRequest(
        "no tokens at all",
        structure.numbers_are_within_limits,
        "Member must have value greater than or equal to 1",
        {**body(HELLO), "inferenceConfig": {"maxTokens": 0}},
    ),
    BrokenRequest(
        "a temperature over 1",
        structure.numbers_are_within_limits,
        "'inferenceConfig.temperature' failed to satisfy constraint: Member must have value less than or equal to 1",
        {**body(HELLO), "inferenceConfig": {"maxTokens": 10, "temperature": 1.5}},
    ),
)
