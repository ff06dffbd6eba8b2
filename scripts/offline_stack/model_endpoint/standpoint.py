"""Which thread a request comes from, and what it knows of its family: read from its seeds, as a model would."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from scripts.offline_stack.model_endpoint.document import JsonValue, as_array, as_object, as_text
from scripts.offline_stack.model_endpoint.request import Block, ConverseRequest, Text, ToolResult, ToolUse

OPENING = "[[script:"
_SPAWN = "spawn_thread"
# How the runtime's own texts begin, and the id that each of them names.
_INSIDE = re.compile(r"You are now inside the thread that was started: (?P<id>[^\s.]+)\. Its task is yours: ")
_INSIDE_EVENT = re.compile(r"You are now inside thread (?P<id>[^\s,]+), which was started for one event")
_ALONE = re.compile(r"\[You are thread (?P<id>[^\s,]+), started by another")
_STARTED = re.compile(r"Started: thread (?P<id>[^\s.]+)\.")
# What a script may leave open: <self>, <stack>, <news>, <child 2>, <call watch>.
_GAP = re.compile(r"<(?P<what>self|stack|news|child|call)(?: (?P<which>\w+))?>")


@dataclass(frozen=True, slots=True)
class Standpoint:
    """Ids from the root, as far as they are known, down to the thread itself; those of the threads that it started, in
    order; and the newest call of each tool. Of a root nothing tells the id.
    """

    stack: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    calls: Mapping[str, str] = field(default_factory=dict)

    def filled(self, value: JsonValue, news: str) -> JsonValue:
        """Return the value with every gap filled. What is not known stays as it is, for all to see.

        A script within a text is left alone: its gaps are for the thread that it is for.
        """
        if isinstance(value, dict):
            return {name: self.filled(inner, news) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.filled(inner, news) for inner in value]
        if value == "<stack>":
            return list(self.stack) or value
        if not isinstance(value, str):
            return value
        own, opening, script = value.partition(OPENING)
        return _GAP.sub(self._filling(news), own) + opening + script

    def _filling(self, news: str) -> Callable[[re.Match[str]], str]:
        def known(gap: re.Match[str]) -> str:
            which = gap["which"] or ""
            match gap["what"]:
                case "self" if self.stack:
                    return self.stack[-1]
                case "child" if which.isdigit() and 0 < int(which) <= len(self.children):
                    return self.children[int(which) - 1]
                case "call":
                    return self.calls.get(which, gap[0])
                case "news":
                    return news
                case _:
                    return gap[0]

        return known


def standpoint_of(request: ConverseRequest) -> Standpoint:
    """Return from where a request that passed the rules was made."""
    here = Standpoint()
    uses: dict[str, ToolUse] = {}
    for _, message, block in request.placed_blocks():
        match block:
            case ToolUse(tool_use_id, name):
                uses[tool_use_id] = block
                here = replace(here, calls={**here.calls, name: tool_use_id})
            case ToolResult(tool_use_id) if uses[tool_use_id].name == _SPAWN:
                here = _told(here, uses[tool_use_id], _text_of(block))
            case Text(text) if message.role == "user" and (alone := _ALONE.match(text)):
                here = Standpoint((alone["id"],), calls=here.calls)
            case _:
                pass
    return here


def task_in(block: Block) -> str | None:
    """Return the text that says what a thread is for, if this is the result by which it begins."""
    text = _text_of(block)
    inside = _INSIDE.match(text)
    return text[inside.end() :] if inside else None


def begins_event_thread(block: Block) -> bool:
    """Whether this is the result by which a thread begins that is there for one event."""
    return _INSIDE_EVENT.match(_text_of(block)) is not None


def _told(here: Standpoint, spawn: ToolUse, text: str) -> Standpoint:
    if started := _STARTED.match(text):
        return replace(here, children=(*here.children, started["id"]))
    inside = _INSIDE.match(text) or _INSIDE_EVENT.match(text)
    if inside is None:
        return here
    above = tuple(as_text(name) for name in as_array(as_object(spawn.input).get("child_of")))
    return Standpoint((*above, inside["id"]), calls=here.calls)


def _text_of(block: Block) -> str:
    content = block.content if isinstance(block, ToolResult) else ()
    return "\n".join(part.text for part in content if isinstance(part, Text))
