"""What the agent has going on, and ending some of it: `list_activity`, `cancel_tool_call`, `cancel_subscription`."""

import json

from runtime import going_on, phrases
from runtime.draft import Draft
from runtime.model.calls import Call, CallState
from runtime.model.entries import CancelledCall
from runtime.model.turns import ToolSpec
from runtime.tools.offer import Answer, Asked, Builtin


def _list_activity(asked: Asked) -> Answer:
    return Answer(asked.draft, json.dumps(going_on.activity_of(asked.draft), ensure_ascii=False))


def _cancel_tool_call(asked: Asked) -> Answer:
    call = asked.draft.call(str(asked.arguments["tool_call_id"]))
    if call is None or call.state != "detached":
        those = _those(asked, "detached")
        return Answer(asked.draft, f"Error: this is not a call of yours that is still running. {those}")
    return _ended(asked, call, "cancelled", phrases.CANCEL_ACCEPTED)


def _cancel_subscription(asked: Asked) -> Answer:
    call = asked.draft.call(str(asked.arguments["tool_call_id"]))
    if call is None or call.state != "subscribed":
        return Answer(asked.draft, f"Error: this is not a live subscription of yours. {_those(asked, 'subscribed')}")
    return _ended(asked, call, "ended", phrases.SUBSCRIPTION_ENDED)


def _ended(asked: Asked, call: Call, state: CallState, text: str) -> Answer:
    cancelled = CancelledCall(call.call_id, call.target.toolset or "")
    return Answer(asked.draft.with_call(call, state), text, cancelled=cancelled)


def _those(asked: Asked, state: CallState) -> str:
    ids = ", ".join(call.call_id for call in _in_state(asked.draft, state)) or "none"
    return f"Those are: {ids}."


def _in_state(draft: Draft, state: CallState) -> list[Call]:
    calls = sorted(draft.all_calls().values(), key=lambda call: call.position)
    return [call for call in calls if call.state == state]


LIST_ACTIVITY = Builtin(
    ToolSpec(
        "list_activity",
        "List what is still going on for you: tool calls whose results are yet to come, subscriptions, open threads. "
        "It also tells who you are: stack has the ids of the threads from the root down to you.",
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
CANCEL_SUBSCRIPTION = Builtin(
    ToolSpec(
        "cancel_subscription",
        "End a subscription of yours. No event of it will arrive any more.",
        {
            "type": "object",
            "properties": {"tool_call_id": {"type": "string", "description": "The id, as list_activity gives it."}},
            "required": ["tool_call_id"],
        },
    ),
    run=_cancel_subscription,
)
