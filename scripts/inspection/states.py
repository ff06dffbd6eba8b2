"""What a thread waits for, from its rows. Its last entry alone says it, unless it closed or gave up. Pure."""

from dataclasses import dataclass
from typing import Literal

from runtime.model.calls import Call
from runtime.model.entries import Entry, ToolCall
from runtime.model.threads import ThreadRow
from scripts.inspection.reading import StoredThread

StateKind = Literal["closed", "gave_up", "waits_for_tool", "sleeps", "asks_model", "waits_for_summary", "idle"]


@dataclass(frozen=True, slots=True)
class State:
    """`what` names the tool, the error, or who closed it; `due_ms` is when it goes on by itself, if that is known."""

    kind: StateKind
    what: str = ""
    since_ms: int | None = None
    due_ms: int | None = None


def state_of(thread: StoredThread) -> State:
    """Return what the thread waits for."""
    row, tail = thread.row, thread.tail
    since_ms = tail.created_ms if tail else None
    if row.closed:
        by_itself = thread.closed_by == row.thread_id
        return State("closed", "itself" if by_itself else thread.closed_by or "", since_ms if by_itself else None)
    if tail is None:
        return State("idle")
    if row.gave_up is not None and tail.asks:
        return State("gave_up", row.gave_up.code, since_ms, row.gave_up.wake_due_ms)
    return _of_tail(row, tail, thread.calls)


def _of_tail(row: ThreadRow, tail: Entry, calls: tuple[Call, ...]) -> State:
    if isinstance(tail.body, ToolCall):
        call_id = tail.body.call_id
        call = next((each for each in calls if each.call_id == call_id), None)
        if call is not None and sleeps(call):
            return State("sleeps", call.name, tail.created_ms, call.due_ms)
        return State("waits_for_tool", tail.body.name, tail.created_ms, call.due_ms if call else None)
    if not tail.asks:
        return State("idle", since_ms=tail.created_ms)
    compacting = row.compaction is not None and not row.compaction.failed
    return State("waits_for_summary" if compacting else "asks_model", since_ms=tail.created_ms)


def sleeps(call: Call) -> bool:
    """Whether the runtime itself answers the call: at its time, or when something arrives."""
    return call.target.toolset is None
