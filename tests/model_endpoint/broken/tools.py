"""Requests whose tools are declared wrongly."""

from scripts.offline_stack.model_endpoint.document import JsonObject
from scripts.offline_stack.model_endpoint.rules import (
    tools,
)
from tests.model_endpoint.broken.broken_request import BrokenRequest
from tests.model_endpoint.support import (
    GET_TIME,
    HELLO,
    answered,
    assistant,
    body,
    use,
    user,
)


def _tool_with_schema(schema: JsonObject | str) -> JsonObject:
    return {"tools": [{"toolSpec": {"name": "odd", "inputSchema": {"json": schema}}}]}


_CALLED = (HELLO, assistant(use("call_1")))

TOOLS: tuple[BrokenRequest, ...] = (
    BrokenRequest(
        "tool blocks without declared tools",
        tools.tools_are_declared_with_tool_blocks,
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        body(*_CALLED, user(answered("call_1", "noon"))),
    ),
    BrokenRequest(
        "two tools of one name",
        tools.tool_names_are_unique,
        "tools: Tool names must be unique.",
        body(HELLO, toolConfig={"tools": [GET_TIME, GET_TIME]}),
    ),
    BrokenRequest(
        "a schema that is text",
        tools.tool_schemas_are_objects,
        "toolConfig.tools.0.toolSpec.inputSchema.json is invalid. Provide a json object",
        body(HELLO, toolConfig=_tool_with_schema("object")),
    ),
    BrokenRequest(
        "a schema of a string",
        tools.tool_schemas_describe_objects,
        "inputSchema.json.type must be one of the following: object.",
        body(HELLO, toolConfig=_tool_with_schema({"type": "string"})),
    ),
    BrokenRequest(
        "a schema without a type",
        tools.tool_schemas_describe_objects,
        "inputSchema.json.type must be one of the following: object.",
        body(HELLO, toolConfig=_tool_with_schema({})),
    ),
    BrokenRequest(
        "a choice of a tool that is not offered",
        tools.a_chosen_tool_is_offered,
        "Tool 'fly' not found in provided tools",
        body(HELLO, toolConfig={"tools": [GET_TIME], "toolChoice": {"tool": {"name": "fly"}}}),
    ),
)
