"""What becomes of the call a thread waits for when something else arrives first."""

from typing import assert_never

from runtime import phrases
from runtime.draft import Draft
from runtime.model.calls import Call, CallState
from runtime.model.entries import CancelledCall, StoppedTimer, TextItem, ToolResult

_STATE_AFTER: dict[str, CallState] = {"continue": "detached", "cancel": "cancelled", "end": "answered"}


def detach(draft: Draft, now_ms: int) -> Draft:
    """Give the pending call, if there is one, a result that lets the conversation go on while the tool works.

    The tool is not cancelled, unless it asked for that; its real result arrives later, as an event.
    """
    call = draft.pending_call
    if call is None:
        return draft
    return draft.append(_placeholder(call, now_ms), now_ms).with_call(call, _STATE_AFTER[call.target.on_interrupt])


def timer_stopped(call: Call) -> StoppedTimer | None:
    """Return what is to be done about the timer of a call that is no longer waited for."""
    return StoppedTimer(call.call_id) if call.due_ms is not None else None


def _placeholder(call: Call, now_ms: int) -> ToolResult:
    stopped = timer_stopped(call)
    match call.target.on_interrupt:
        case "continue":
            return ToolResult(call.call_id, (TextItem(phrases.STILL_RUNNING),), deed=stopped)
        case "cancel":
            cancelled = CancelledCall(call.call_id, call.target.toolset or "")
            return ToolResult(
                call.call_id, (TextItem(phrases.CANCELLED_BY_INTERRUPTION),), cancelled=cancelled, deed=stopped
            )
        case "end":
            waited_s = max(0, now_ms - call.committed_ms) // 1000
            return ToolResult(call.call_id, (TextItem(phrases.woken_after(waited_s)),), deed=stopped)
        case _:
            assert_never(call.target.on_interrupt)
