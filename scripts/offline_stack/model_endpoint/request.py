"""One ConverseStream request, read into values the rules and the scripted model can match on."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from scripts.offline_stack.model_endpoint.document import (
    JsonObject,
    JsonValue,
    as_array,
    as_bytes,
    as_number,
    as_object,
    as_text,
)
from scripts.offline_stack.model_endpoint.service_model import Violation, violations


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What the addressed model can take and give, in tokens."""

    window_tokens: int = 200_000
    output_tokens: int = 64_000


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class JsonContent:
    value: JsonValue


@dataclass(frozen=True, slots=True)
class Image:
    format: str
    content: bytes


@dataclass(frozen=True, slots=True)
class ToolUse:
    tool_use_id: str
    name: str
    input: JsonValue


@dataclass(frozen=True, slots=True)
class ToolResult:
    tool_use_id: str
    content: "tuple[Block, ...]"
    is_error: bool


@dataclass(frozen=True, slots=True)
class Reasoning:
    text: str
    signature: str


@dataclass(frozen=True, slots=True)
class RedactedReasoning:
    content: bytes


@dataclass(frozen=True, slots=True)
class CachePoint:
    ttl: str


@dataclass(frozen=True, slots=True)
class OtherContent:
    """A kind of block neither a rule nor the scripted model looks into; the service's model still judges it."""

    kind: str


Block: TypeAlias = (
    Text | JsonContent | Image | ToolUse | ToolResult | Reasoning | RedactedReasoning | CachePoint | OtherContent
)


@dataclass(frozen=True, slots=True)
class Message:
    """One message; ``path`` is its place in the request as the service's errors name it (``messages.2``)."""

    path: str
    role: str
    blocks: tuple[Block, ...]

    def placed_blocks(self) -> Iterator[tuple[str, Block]]:
        """Yield every block in order with its place, as in ``messages.2.content.0``."""
        for index, block in enumerate(self.blocks):
            yield f"{self.path}.content.{index}", block


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    schema: JsonValue


@dataclass(frozen=True, slots=True)
class ConverseRequest:
    """A whole request: the body as it came, and read. ``tools`` holds the cache points between the tools as well,
    ``violations`` what the service's published model has against the request.
    """

    model_id: str
    body: JsonObject
    messages: tuple[Message, ...]
    system: tuple[Block, ...]
    tools: tuple[Tool | CachePoint, ...]
    violations: tuple[Violation, ...]
    limits: ModelLimits

    @property
    def inference(self) -> JsonObject:
        return as_object(self.body.get("inferenceConfig"))

    @property
    def thinking_budget_tokens(self) -> float | None:
        """The fixed thinking budget, nothing when thinking is off or adaptive."""
        thinking = as_object(as_object(self.body.get("additionalModelRequestFields")).get("thinking"))
        return as_number(thinking.get("budget_tokens")) if thinking.get("type") == "enabled" else None

    def placed_blocks(self) -> Iterator[tuple[str, Message, Block]]:
        """Yield every block of every message in order, with its place and its message."""
        for message in self.messages:
            for path, block in message.placed_blocks():
                yield path, message, block

    def offered_tools(self) -> Iterator[Tool]:
        """Yield the tools themselves, without the cache points between them."""
        yield from (tool for tool in self.tools if isinstance(tool, Tool))


def read_request(model_id: str, body: JsonObject, limits: ModelLimits) -> ConverseRequest:
    """Read any JSON object as a request. Never fails: what has the wrong shape reads as empty."""
    tool_config = as_object(body.get("toolConfig"))
    return ConverseRequest(
        model_id=model_id,
        body=body,
        messages=tuple(
            _read_message(f"messages.{index}", as_object(message))
            for index, message in enumerate(as_array(body.get("messages")))
        ),
        system=_read_blocks(body.get("system")),
        tools=tuple(_read_tool(as_object(tool)) for tool in as_array(tool_config.get("tools"))),
        violations=tuple(violations(model_id, body)),
        limits=limits,
    )


def _read_message(path: str, message: JsonObject) -> Message:
    return Message(path, as_text(message.get("role")), _read_blocks(message.get("content")))


def _read_tool(tool: JsonObject) -> Tool | CachePoint:
    if "cachePoint" in tool:
        return _read_cache_point(tool["cachePoint"])
    specification = as_object(tool.get("toolSpec"))
    return Tool(as_text(specification.get("name")), as_object(specification.get("inputSchema")).get("json"))


def _read_blocks(blocks: JsonValue) -> tuple[Block, ...]:
    return tuple(_read_block(as_object(block)) for block in as_array(blocks))


def _read_block(block: JsonObject) -> Block:
    for kind, read in _BLOCK_READERS.items():
        if kind in block:
            return read(block[kind])
    return OtherContent(next(iter(block), ""))


def _read_cache_point(value: JsonValue) -> CachePoint:
    return CachePoint(as_text(as_object(value).get("ttl")) or "5m")


def _read_image(value: JsonValue) -> Image:
    image = as_object(value)
    content = as_bytes(as_object(image.get("source")).get("bytes"))
    return Image(as_text(image.get("format")), content or b"")


def _read_tool_use(value: JsonValue) -> ToolUse:
    use = as_object(value)
    return ToolUse(as_text(use.get("toolUseId")), as_text(use.get("name")), use.get("input"))


def _read_tool_result(value: JsonValue) -> ToolResult:
    result = as_object(value)
    return ToolResult(
        as_text(result.get("toolUseId")), _read_blocks(result.get("content")), result.get("status") == "error"
    )


def _read_reasoning(value: JsonValue) -> Reasoning | RedactedReasoning:
    content = as_object(value)
    if "redactedContent" in content:
        return RedactedReasoning(as_bytes(content["redactedContent"]) or b"")
    shown = as_object(content.get("reasoningText"))
    return Reasoning(as_text(shown.get("text")), as_text(shown.get("signature")))


_BLOCK_READERS: Mapping[str, Callable[[JsonValue], Block]] = {
    "text": lambda value: Text(as_text(value)),
    "json": JsonContent,
    "image": _read_image,
    "toolUse": _read_tool_use,
    "toolResult": _read_tool_result,
    "reasoningContent": _read_reasoning,
    "cachePoint": _read_cache_point,
}
