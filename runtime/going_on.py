"""What goes on for a thread, in JSON for the model: each in short, and all of it within bounds. Pure.

How many calls may run is bounded nowhere, and each may have large arguments. What a list leaves out is counted in it.
"""

import json
from collections.abc import Iterable

from runtime import births
from runtime.draft import Draft
from runtime.items import shown_text
from runtime.model.calls import Call, CallState
from runtime.model.entries import JsonObject
from runtime.model.threads import Child

_MOST = 100
_ARGUMENTS_CHARS = 2_000
_TOGETHER_CHARS = 10_000


def activity_of(draft: Draft) -> JsonObject:
    """Return which thread this is, and everything that goes on for it."""
    calls = draft.all_calls().values()
    return {
        "thread_id": draft.thread_id,
        "stack": births.stack_of(draft.row),
        "running_tool_calls": calls_in("detached", calls),
        "subscriptions": calls_in("subscribed", calls),
        "open_threads": threads(draft.children),
    }


def calls_in(state: CallState, calls: Iterable[Call]) -> list[JsonObject]:
    """Return the calls in this state, oldest first. Of very many the newest ones; where it is too much, only names."""
    found = sorted((call for call in calls if call.state == state), key=lambda call: call.position)
    listed, left_chars = list[JsonObject](), _TOGETHER_CHARS
    for call in reversed(found[-_MOST:]):
        arguments, size_chars = _in_short(call.arguments)
        named = {"tool_call_id": call.call_id, "tool": call.name}
        listed.append({**named, "arguments": arguments} if size_chars <= left_chars else named)
        left_chars -= min(size_chars, left_chars)
    return _left_out(len(found)) + listed[::-1]


def threads(children: tuple[Child, ...]) -> list[JsonObject]:
    """Return the children, as many as a list has."""
    listed: list[JsonObject] = [{"thread_id": child.thread_id, "task": child.birth.task} for child in children[-_MOST:]]
    return _left_out(len(children)) + listed


def _in_short(arguments: JsonObject) -> tuple[JsonObject | str, int]:
    written = json.dumps(arguments, ensure_ascii=False)
    if len(written) <= _ARGUMENTS_CHARS:
        return arguments, len(written)
    return shown_text(written, _ARGUMENTS_CHARS), _ARGUMENTS_CHARS


def _left_out(count: int) -> list[JsonObject]:
    return [{"others_left_out": count - _MOST}] if count > _MOST else []
