"""What is offered as tools."""

from collections import Counter

from scripts.offline_stack.model_endpoint.document import as_object, as_text
from scripts.offline_stack.model_endpoint.request import ConverseRequest, Tool, ToolResult, ToolUse


def tools_are_declared_with_tool_blocks(request: ConverseRequest) -> str | None:
    holds_tool_blocks = any(isinstance(block, ToolUse | ToolResult) for _, _, block in request.placed_blocks())
    if holds_tool_blocks and request.body.get("toolConfig") is None:
        return "The toolConfig field must be defined when using toolUse and toolResult content blocks."
    return None


def tool_names_are_unique(request: ConverseRequest) -> str | None:
    if any(count > 1 for count in Counter(tool.name for tool in request.offered_tools()).values()):
        return "The model returned the following errors: tools: Tool names must be unique."
    return None


def tool_schemas_are_objects(request: ConverseRequest) -> str | None:
    for index, tool in enumerate(request.tools):
        if isinstance(tool, Tool) and not isinstance(tool.schema, dict):
            return (
                f"The format of the value at toolConfig.tools.{index}.toolSpec.inputSchema.json is invalid. "
                "Provide a json object for the field and try again."
            )
    return None


def tool_schemas_describe_objects(request: ConverseRequest) -> str | None:
    for index, tool in enumerate(request.tools):
        if isinstance(tool, Tool) and isinstance(tool.schema, dict) and tool.schema.get("type") != "object":
            return (
                f"The value at toolConfig.tools.{index}.toolSpec.inputSchema.json.type "
                "must be one of the following: object."
            )
    return None


def a_chosen_tool_is_offered(request: ConverseRequest) -> str | None:
    choice = as_object(as_object(request.body.get("toolConfig")).get("toolChoice"))
    name = as_text(as_object(choice.get("tool")).get("name"))
    if name and name not in {tool.name for tool in request.offered_tools()}:
        return f"The model returned the following errors: tool_choice: Tool '{name}' not found in provided tools"
    return None
