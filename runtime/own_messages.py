"""The messages the runtime sends to threads. Pure; each is named after what it is about, so sent twice it is one."""

from collections.abc import Sequence

from runtime import identity
from runtime.items import shown_text
from runtime.model.calls import Call
from runtime.model.messages import (
    BounceContent,
    CompactionContent,
    Message,
    MessageKey,
    ParentContent,
    ReportContent,
    TimerContent,
    UndeliveredContent,
    WakeContent,
)
from runtime.model.threads import ThreadRow

# SQS takes 1 MiB (1,048,576 bytes), and in ASCII JSON a character takes up to twelve.
_CARRIED_CHARS = 80_000


def wake_message(thread_id: str, version: int, attempt: int = 0) -> Message:
    """Return the wake for this version of the thread."""
    key = MessageKey("wake", identity.wake_message_id(thread_id, version))
    return Message(thread_id, key, WakeContent(attempt), body_hash="")


def first_wake(child_id: str) -> Message:
    """Return the wake of a thread that has just begun."""
    return wake_message(child_id, 1)


def undelivered_message(thread_id: str, call_id: str, reason: str) -> Message:
    key = MessageKey("undelivered", identity.undelivered_message_id(call_id))
    return Message(thread_id, key, UndeliveredContent(call_id, f"Error: {reason}"), body_hash="")


def timer_message(thread_id: str, call: Call) -> Message:
    """Return what tells a thread that the time of this call is over."""
    assert call.due_ms is not None
    key = MessageKey("timer", identity.timer_message_id(call.call_id))
    return Message(thread_id, key, TimerContent(call.call_id, call.due_ms), body_hash="")


def report(row: ThreadRow, position: int, text: str) -> Message:
    """Return what a child tells its parent with the entry at this position."""
    key = MessageKey("thread_report", identity.report_message_id(row.thread_id, position))
    return _to_parent(row, key, ReportContent(row.birth.call_id, row.thread_id, shown_text(text, _CARRIED_CHARS)))


def word_of_stopping(row: ThreadRow, text: str) -> Message:
    """Return what a parent hears of a child that gave up, and that nothing but a word of its parent wakes again."""
    key = MessageKey("thread_report", identity.stopped_message_id(row.thread_id, row.version))
    return _to_parent(row, key, ReportContent(row.birth.call_id, row.thread_id, text))


def last_word_of(child_id: str) -> MessageKey:
    """Return the name of what this child tells its parent when it closes."""
    return MessageKey("thread_report", identity.closed_message_id(child_id))


def last_report(row: ThreadRow, text: str) -> Message:
    """Return what a child tells its parent when it closes."""
    key = last_word_of(row.thread_id)
    return _to_parent(row, key, ReportContent(row.birth.call_id, row.thread_id, text, closed=True))


def compaction_ended(row: ThreadRow) -> Message:
    """Return what a compaction thread tells the thread it was made for."""
    key = MessageKey("compaction_complete", identity.compacted_message_id(row.thread_id))
    return _to_parent(row, key, CompactionContent(row.thread_id, row.birth.inherited))


def to_child(child_id: str, spawn_call_id: str, call_id: str, text: str) -> Message:
    """Return what a parent tells its child by a call of its own."""
    key = MessageKey("parent_message", identity.parent_message_id(call_id))
    return Message(child_id, key, ParentContent(spawn_call_id, text), body_hash="")


def bounces(row: ThreadRow, refused: Sequence[Message]) -> list[Message]:
    """Return what tells a parent that its child had closed before it read what the parent said."""
    call_ids = [
        message.key.message_id.removeprefix(identity.parent_message_id(""))
        for message in refused
        if isinstance(message.content, ParentContent)
    ]
    return [
        _to_parent(row, MessageKey("bounce", identity.bounce_message_id(call_id)), BounceContent(call_id))
        for call_id in call_ids
    ]


def _to_parent(row: ThreadRow, key: MessageKey, content: ReportContent | CompactionContent | BounceContent) -> Message:
    assert row.birth.parent_id is not None
    return Message(row.birth.parent_id, key, content, body_hash="")
