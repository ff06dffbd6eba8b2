"""What has reached the model since it last spoke: results, events and texts not answered yet."""

import json
from dataclasses import dataclass, replace

from scripts.offline_stack.model_endpoint.document import as_object, as_text
from scripts.offline_stack.model_endpoint.request import (
    Block,
    ConverseRequest,
    Image,
    JsonContent,
    Text,
    ToolResult,
    ToolUse,
)
from scripts.offline_stack.model_endpoint.standpoint import begins_event_thread, task_in

# Calls that were not the model's own doing: what arrives by itself is shown as a call made for the model.
_INJECTED_NAMES = ("receive_event__injected",)
_INJECTED_ID_PREFIXES = ("evt_", "seed_")
_STILL_RUNNING = "still running"
_PLACEHOLDER_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back for a call, under the name of the tool that was called."""

    tool_name: str
    text: str
    is_error: bool = False
    is_event: bool = False

    @property
    def is_still_running(self) -> bool:
        """A placeholder: the call is answered by a short text that says it goes on."""
        return not (self.is_error or self.is_event) and _STILL_RUNNING in self.text[:_PLACEHOLDER_CHARACTERS]


@dataclass(frozen=True, slots=True)
class News:
    """Results and events in order, and the user's texts in order; the task of a thread is one of them."""

    outcomes: tuple[Outcome, ...]
    texts: tuple[str, ...]

    @property
    def results(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if not outcome.is_still_running)

    @property
    def running_tools(self) -> tuple[str, ...]:
        return tuple(outcome.tool_name for outcome in self.outcomes if outcome.is_still_running)


@dataclass(frozen=True, slots=True)
class Asked:
    """The newest plain text of the user, or the task of the thread, and how many turns the assistant has had since.

    `for_event`: since then a thread has begun for one event, and the turns are its own.
    """

    text: str
    turns_since: int = 0
    for_event: bool = False


def news_for(request: ConverseRequest) -> News:
    """Return everything the user's side said after the model's last own words or call, in order.

    The request is one that passed the rules: each result has its call.
    """
    calls = {block.tool_use_id: block for _, _, block in request.placed_blocks() if isinstance(block, ToolUse)}
    outcomes: list[Outcome] = []
    texts: list[str] = []
    for _, message, block in request.placed_blocks():
        match block:
            case Text() | ToolUse() if message.role == "assistant":
                if _is_own(block):
                    outcomes, texts = [], []
            case ToolResult() if task := task_in(block):
                texts.append(task)
            case ToolResult():
                outcomes.append(_outcome(block, calls[block.tool_use_id]))
            case Text(text):
                texts.append(text)
    return News(tuple(outcomes), tuple(texts))


def newest_text_in(request: ConverseRequest) -> Asked | None:
    """Return the newest text of the user, or the newest task, anywhere in the conversation, answered or not."""
    asked: Asked | None = None
    for message in request.messages:
        if message.role == "user":
            for block in message.blocks:
                asked = _asked_by(block, asked)
        elif asked and any(_is_own(block) for block in message.blocks):
            asked = replace(asked, turns_since=asked.turns_since + 1)
    return asked


def _asked_by(block: Block, before: Asked | None) -> Asked | None:
    if isinstance(block, Text):
        return Asked(block.text)
    if task := task_in(block):
        return Asked(task)
    return replace(before, turns_since=0, for_event=True) if before and begins_event_thread(block) else before


def _is_own(block: Block) -> bool:
    match block:
        case Text():
            return True
        case ToolUse(tool_use_id, name):
            return name not in _INJECTED_NAMES and not tool_use_id.startswith(_INJECTED_ID_PREFIXES)
        case _:
            return False


def _outcome(result: ToolResult, call: ToolUse) -> Outcome:
    text = "\n".join(map(_text_of, result.content))
    if _is_own(call):
        return Outcome(call.name, text, result.is_error)
    original = as_text(as_object(call.input).get("original_tool_name"))
    return Outcome(original or call.name, text, result.is_error, is_event=True)


def _text_of(block: Block) -> str:
    match block:
        case Text(text):
            return text
        case JsonContent(value):
            return json.dumps(value, ensure_ascii=False)
        case Image(image_format):
            return f"(an image in {image_format})"
        case _:
            return "(something to look at)"
