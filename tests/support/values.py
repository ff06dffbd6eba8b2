"""Short ways to say the values tests are about."""

import json
from collections.abc import Sequence
from itertools import count

from runtime.limits import Limits
from runtime.model.calls import Call, CallState, CallTarget
from runtime.model.entries import AssistantText, Body, Entry, Finish, JsonObject, TextItem, ToolCall, Usage, UserText
from runtime.model.messages import (
    Content,
    Message,
    MessageKey,
    ResultContent,
    TextContent,
    UndeliveredContent,
    WakeContent,
)
from runtime.model.threads import Thread, ThreadRow
from runtime.model.turns import Completion, SaidText, StopReason, ToolSpec, WantedCall
from runtime.wire.messages import body_hash

THREAD = "thread-1"
NOW_MS = 1_800_000_000_000
USAGE = Usage(input_tokens=10, output_tokens=5)
TOOLSET = CallTarget("builds", "http://127.0.0.1:1/invoke")
LIMITS = Limits(
    item_chars=100_000,
    message_bytes=256 * 1024,
    thread_depth=5,
    live_children=50,
    live_subscriptions=50,
    open_threads=1_000,
)

_numbers = count(1)


def text_message(text: str, message_id: str | None = None, **fields: JsonObject | int) -> Message:
    content = TextContent(text, _object(fields.get("metadata")))
    sent_ms = fields.get("sent_ms", 0)
    return _message("text", message_id or f"user:{next(_numbers)}", content, sent_ms if isinstance(sent_ms, int) else 0)


def result_message(call_id: str, text: str = "done", *, subscription: bool = False) -> Message:
    return _message("tool_result", f"result:{call_id}", ResultContent(call_id, (TextItem(text),), subscription))


def undelivered_message(call_id: str, reason: str = "Error: refused") -> Message:
    return _message("undelivered", f"undelivered:{call_id}", UndeliveredContent(call_id, reason))


def wake_message(message_id: str = "wake:thread-1:1", attempt: int = 0) -> Message:
    return _message("wake", message_id, WakeContent(attempt))


def _message(type_: str, message_id: str, content: Content, sent_ms: int = 0) -> Message:
    return Message(THREAD, MessageKey(type_, message_id), content, body_hash(content), sent_ms)


def _object(given: JsonObject | int | None) -> JsonObject | None:
    return None if given is None or isinstance(given, int) else given


def thread_of(*bodies: Body, calls: Sequence[Call] = ()) -> Thread:
    """Return a thread whose entries hold these bodies, each in a turn of its own."""
    entries = tuple(Entry(position, position, body, NOW_MS) for position, body in enumerate(bodies, start=1))
    row = ThreadRow(THREAD, THREAD, head=len(entries), version=1 if entries else 0)
    return Thread(row, entries, {call.call_id: call for call in calls})


def asked(text: str = "hello") -> UserText:
    return UserText(text, cause="user:1")


def answered(text: str = "hi") -> AssistantText:
    return AssistantText(text, Finish("end_turn", USAGE))


def called(call_id: str, name: str = "run_build", arguments: JsonObject | None = None) -> ToolCall:
    return ToolCall(call_id, name, arguments or {}, finish=Finish("tool_use", USAGE))


def call_row(call_id: str, state: CallState = "pending", target: CallTarget = TOOLSET, position: int = 2) -> Call:
    return Call(call_id, "run_build", {}, state, target, position, NOW_MS)


def says(*texts: str, stop: StopReason = "end_turn") -> Completion:
    return Completion(tuple(SaidText(text) for text in texts), stop, USAGE)


def calls(
    name: str, arguments: JsonObject | str | None = None, *, text: str = "", stop: StopReason = "tool_use"
) -> Completion:
    """Return a completion that calls one tool; `arguments` as text are what the model wrote, to the letter."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    said = (SaidText(text),) if text else ()
    return Completion((*said, WantedCall(f"toolu-{next(_numbers)}", name, written)), stop, USAGE)


def tool(name: str, schema: JsonObject | None = None) -> ToolSpec:
    return ToolSpec(name, f"The tool {name}.", schema or {"type": "object", "properties": {}})
