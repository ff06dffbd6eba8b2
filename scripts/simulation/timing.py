"""What is owed of timers: that they are started, and stopped when nobody waits for them any more."""

from collections.abc import Container

from runtime.effects import timer_name
from runtime.model.entries import Body, StoppedTimer, ToolCall, ToolResult
from runtime.model.messages import MessageKey
from scripts.simulation.conversation import Conversation


def timer_owed(
    body: Body,
    conversation: Conversation,
    started: Container[str],
    stopped: Container[str],
    sent: Container[tuple[str, MessageKey]],
) -> str | None:
    """Return what is not done of the timer that this entry is about. `started` and `stopped` are names of timers."""
    thread_id = conversation.thread_id
    if isinstance(body, ToolCall):
        call = conversation.calls.get(body.call_id)
        is_waited_for = call is not None and call.due_ms is not None and call.state == "pending"
        given_up = (thread_id, MessageKey("undelivered", f"undelivered:{body.call_id}")) in sent
        is_done = timer_name(thread_id, body.call_id) in started or given_up
        return f"the timer of {body.call_id}" if is_waited_for and not is_done else None
    if isinstance(body, ToolResult) and isinstance(body.deed, StoppedTimer):
        is_done = timer_name(thread_id, body.deed.timed_call_id) in stopped
        return None if is_done else f"the end of the timer of {body.call_id}"
    return None
