"""What the model is asked, and what it answered. Neutral between providers; adapters translate."""

import re
from dataclasses import dataclass
from typing import Literal

from runtime.model.entries import Item, JsonObject, Usage

# The strictest provider's rule for the names of tools in a request (Bedrock Converse, ToolUseBlock.name).
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

StopReason = Literal[
    "end_turn",
    "stop_sequence",
    "tool_use",
    "max_tokens",
    "guardrail_intervened",
    "content_filtered",
    "malformed_model_output",
    "malformed_tool_use",
    "model_context_window_exceeded",
    "unknown",
]


# The provider ended the answer for what it says: asked again, it would end it again.
FILTERED: frozenset[StopReason] = frozenset({"guardrail_intervened", "content_filtered"})


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is offered it. `input_schema` is a JSON Schema object."""

    name: str
    description: str
    input_schema: JsonObject


@dataclass(frozen=True, slots=True)
class TextBlock:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningBlock:
    """Passed back exactly as it came: text with its signature, or redacted bytes (base64)."""

    text: str | None
    signature: str | None
    redacted: str | None = None


@dataclass(frozen=True, slots=True)
class CallBlock:
    call_id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class ResultBlock:
    """`items` is never empty and holds no empty text."""

    call_id: str
    items: tuple[Item, ...]
    status: Literal["success", "error"]


@dataclass(frozen=True, slots=True)
class CachePoint:
    """Everything before this point is stable and worth caching. Never stored, only rendered."""


Block = TextBlock | ReasoningBlock | CallBlock | ResultBlock | CachePoint


@dataclass(frozen=True, slots=True)
class ModelMessage:
    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Valid for the strictest provider: starts with a user turn, roles alternate, every call answered once, directly.

    Adapters put cache points after `tools` and `system`; those within `messages` are given.
    """

    system: str
    tools: tuple[ToolSpec, ...]
    messages: tuple[ModelMessage, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class SaidText:
    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    text: str | None
    signature: str | None
    redacted: str | None = None


@dataclass(frozen=True, slots=True)
class WantedCall:
    """`arguments_json` is what the model wrote, joined from its pieces; no piece at all reads as `{}`."""

    provider_call_id: str
    name: str
    arguments_json: str


Part = SaidText | Thought | WantedCall


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole turn, read to its end marker. `stop` is "unknown" for a reason newer than this code."""

    parts: tuple[Part, ...]
    stop: StopReason
    usage: Usage
