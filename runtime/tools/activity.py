"""What the agent has going on, and ending some of it: `list_activity`, `cancel_tool_call`."""

import json
from dataclasses import replace

from runtime import phrases
from runtime.draft import Draft
from runtime.items import shown_text
from runtime.model.calls import Call
from runtime.model.entries import CancelledCall, JsonObject
from runtime.model.turns import ToolSpec
from runtime.tools.offer import Answer, Builtin

_LISTED_CHARS = 20_000


def _list_activity(draft: Draft, _arguments: JsonObject) -> Answer:
    running = [_described(call) for call in _live(draft) if call.state == "detached"]
    if not running:
        return Answer("Nothing is running for you.")
    listed = json.dumps({"running_tool_calls": running}, ensure_ascii=False)
    return Answer(shown_text(listed, _LISTED_CHARS))


def _cancel_tool_call(draft: Draft, arguments: JsonObject) -> Answer:
    call = draft.call(str(arguments["tool_call_id"]))
    if call is None or call.state != "detached":
        running = ", ".join(call.call_id for call in _live(draft) if call.state == "detached") or "none"
        return Answer(f"Error: this is not a call of yours that is still running. Those are: {running}.")
    cancelled = CancelledCall(call.call_id, call.target.toolset or "")
    return Answer(phrases.CANCEL_ACCEPTED, changed=(replace(call, state="cancelled"),), cancelled=cancelled)


def _live(draft: Draft) -> list[Call]:
    return sorted(draft.all_calls().values(), key=lambda call: call.position)


def _described(call: Call) -> dict[str, object]:
    return {"tool_call_id": call.call_id, "tool": call.name, "arguments": call.arguments}


LIST_ACTIVITY = Builtin(
    ToolSpec(
        "list_activity",
        "List what is still going on for you: tool calls whose results are yet to come.",
        {"type": "object", "properties": {}},
    ),
    run=_list_activity,
)
CANCEL_TOOL_CALL = Builtin(
    ToolSpec(
        "cancel_tool_call",
        "Cancel a tool call of yours that is still running. Its result will not arrive any more.",
        {
            "type": "object",
            "properties": {"tool_call_id": {"type": "string", "description": "The id, as list_activity gives it."}},
            "required": ["tool_call_id"],
        },
    ),
    run=_cancel_tool_call,
)
