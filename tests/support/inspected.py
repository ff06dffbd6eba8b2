"""Threads as scripts/inspect reads them, for tests of what it makes of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from runtime.model.calls import Call
from runtime.model.entries import AssistantText, Body, ToolCall
from runtime.model.threads import Birth, Inherited, ThreadRow
from runtime.ports import Progress
from scripts.inspection.reading import Consumed, StoredThread
from scripts.inspection.stores import Beside
from scripts.inspection.views import ThreadView, thread_view
from tests.support.values import NOW_MS, thread_of

NOTHING = Beside(Progress(), frozenset(), (), ())


def stored(
    *bodies: Body,
    calls: Sequence[Call] = (),
    consumed: Sequence[Consumed] = (),
    closed_by: str | None = None,
    **row: Any,
) -> StoredThread:
    """A thread whose entries hold these bodies; `row` changes fields of its row."""
    thread = thread_of(*bodies)
    made = tuple(entry for entry in thread.entries if isinstance(entry.body, AssistantText | ToolCall))
    changed = replace(thread.row, closed=closed_by is not None, **row)
    return StoredThread(changed, closed_by, NOW_MS, thread.entries, made, tuple(calls), tuple(consumed))


def child(name: str, parent: ThreadRow, *bodies: Body, task: str = "") -> StoredThread:
    """A thread below another, having inherited nothing."""
    birth = Birth("spawned", (*parent.birth.lineage, Inherited(parent.thread_id, 0)), f"call of {name}", task)
    return stored(*bodies, thread_id=name, root_id=parent.root_id, birth=birth)


def seen(thread: StoredThread, beside: Beside = NOTHING) -> ThreadView:
    return thread_view(thread, beside)
