"""A thread plus what its next commit will add. A value: every step returns a new one."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from runtime.model.calls import RUNNING_STATES, Call, CallState
from runtime.model.entries import Body, Entry, ToolCall
from runtime.model.messages import Message
from runtime.model.threads import Child, Commit, GaveUp, NewThread, Summary, Thread, ThreadRow, behind


@dataclass(frozen=True, slots=True)
class Draft:
    """`row` is the thread's as it will be, apart from what every commit sets; `entries` and `calls` are what is new.

    `created` threads begin with the commit; `consumed` are the messages it will have handled, and `dropped` counts, by
    reason, those of them that change nothing. `spent`: tokens since the last commit. `summary`: what this thread, a
    compaction, has written. `frozen_state` belongs to the summary that `row` begins to use.
    """

    thread: Thread
    row: ThreadRow
    entries: tuple[Entry, ...] = ()
    calls: Mapping[str, Call] = field(default_factory=dict)
    created: tuple[NewThread, ...] = ()
    consumed: tuple[Message, ...] = ()
    dropped: tuple[str, ...] = ()
    spent: int = 0
    summary: Summary | None = None
    frozen_state: str | None = None

    @classmethod
    def of(cls, thread: Thread) -> Self:
        return cls(thread, thread.row)

    @property
    def thread_id(self) -> str:
        return self.row.thread_id

    @property
    def head(self) -> int:
        return self.thread.row.head + len(self.entries)

    @property
    def tail(self) -> Entry | None:
        if self.entries:
            return self.entries[-1]
        return self.thread.entries[-1] if self.thread.entries else None

    @property
    def asks(self) -> bool:
        """Whether the thread waits for the model."""
        return self.tail is not None and self.tail.asks and not self.row.closed

    @property
    def next_turn(self) -> int:
        """The number of a turn that begins now. There is no tail to count from where all entries are summarised."""
        return self.tail.turn + 1 if self.tail else self.head + 1

    @property
    def pending_call(self) -> Call | None:
        """The call the thread waits for. The tail alone says so."""
        if self.tail is None or not isinstance(self.tail.body, ToolCall):
            return None
        return self.call(self.tail.body.call_id)

    @property
    def changes_history(self) -> bool:
        return bool(self.entries or self.calls or self.created or self.row != self.thread.row)

    @property
    def children(self) -> tuple[Child, ...]:
        """The open children, those that begin with this commit included. A compaction is none."""
        begun = (Child(new.row.thread_id, new.row.birth) for new in self.created if new.row.counts)
        return (*self.thread.family.children, *begun)

    @property
    def nothing_runs(self) -> bool:
        """Whether nothing is going on for this thread that could still bring it something.

        The last word of a child that has closed may be on its way: a thread that closed would never hear it.
        """
        if self.children or self.thread.family.last_words.difference(message.key for message in self.consumed):
            return False
        return not any(call.state in RUNNING_STATES for call in self.all_calls().values())

    def call(self, call_id: str) -> Call | None:
        return self.calls.get(call_id) or self.thread.calls.get(call_id)

    def all_calls(self) -> Mapping[str, Call]:
        return {**self.thread.calls, **self.calls}

    def visible_entries(self) -> tuple[Entry, ...]:
        """Return what the model is shown, behind the summary."""
        return behind(self.row.summarised, self.thread.entries) + self.entries

    def own_entries(self) -> tuple[Entry, ...]:
        """Return the visible entries that no ancestor wrote."""
        return behind(self.row.birth.inherited, self.visible_entries())

    def summary_in_use(self) -> Summary | None:
        """Return the summary in front of the visible entries."""
        ref = self.row.summary
        if ref is None or ref == self.thread.row.summary:
            return self.thread.summary
        return replace(self.thread.summaries[ref.summary_id], state=self.frozen_state)

    def append(self, body: Body, now_ms: int, turn: int | None = None) -> Self:
        """Add an entry behind the tail: in a turn of its own, unless one is named."""
        entry = Entry(self.head + 1, turn or self.next_turn, body, now_ms)
        return replace(self, entries=(*self.entries, entry))

    def with_call(self, call: Call, state: CallState | None = None) -> Self:
        changed = call if state is None else replace(call, state=state)
        return replace(self, calls={**self.calls, call.call_id: changed})

    def with_thread(self, new: NewThread) -> Self:
        return replace(self, created=(*self.created, new))

    def close(self) -> Self:
        """Close the thread: what is live in it ends with it."""
        live = {call.call_id: replace(call, state="ended") for call in self.all_calls().values() if call.is_live}
        return replace(self, row=replace(self.row, closed=True), calls={**self.calls, **live})

    def drop(self, reason: str) -> Self:
        return replace(self, dropped=(*self.dropped, reason))

    def commit(self, commit_id: str, gave_up: GaveUp | None = None) -> Commit:
        """Return the transaction that makes this draft durable, conditional on the version it was drafted on."""
        before = self.thread.row
        row = replace(
            self.row,
            head=self.head,
            version=before.version + 1,
            commit_id=commit_id,
            gave_up=gave_up,
            has_family=self.row.has_family or bool(self.created),
        )
        consumed = tuple(message.key for message in self.consumed)
        return Commit(
            row,
            self.entries,
            tuple(self.calls.values()),
            consumed,
            created=self.created,
            spent=self.spent,
            metadata_is_new=not self.row.person.has_metadata_of(before.person),
            summary=self.summary,
            frozen_state=self.frozen_state,
        )
