"""A thread plus what its next commit will add. A value: every step returns a new one."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from runtime.model.calls import Call, CallState
from runtime.model.entries import Body, Entry, ToolCall
from runtime.model.messages import Message
from runtime.model.threads import Commit, GaveUp, Person, Thread, TokensOfDay


@dataclass(frozen=True, slots=True)
class Draft:
    """`entries` and `calls` are what is new; `consumed` are the messages this commit will have handled.

    `dropped` counts, by reason, messages that change nothing; they are consumed, too.
    """

    thread: Thread
    person: Person
    tokens: TokensOfDay
    entries: tuple[Entry, ...] = ()
    calls: Mapping[str, Call] = field(default_factory=dict)
    consumed: tuple[Message, ...] = ()
    dropped: tuple[str, ...] = ()

    @classmethod
    def of(cls, thread: Thread) -> Self:
        return cls(thread, thread.row.person, thread.row.tokens)

    @property
    def thread_id(self) -> str:
        return self.thread.row.thread_id

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
        return self.tail is not None and self.tail.asks

    @property
    def next_turn(self) -> int:
        return self.tail.turn + 1 if self.tail else 1

    @property
    def pending_call(self) -> Call | None:
        """The call the thread waits for. The tail alone says so."""
        if self.tail is None or not isinstance(self.tail.body, ToolCall):
            return None
        return self.call(self.tail.body.call_id)

    @property
    def changes_history(self) -> bool:
        return bool(self.entries or self.calls)

    def call(self, call_id: str) -> Call | None:
        return self.calls.get(call_id) or self.thread.calls.get(call_id)

    def all_calls(self) -> Mapping[str, Call]:
        return {**self.thread.calls, **self.calls}

    def all_entries(self) -> tuple[Entry, ...]:
        return self.thread.entries + self.entries

    def append(self, body: Body, now_ms: int, turn: int | None = None) -> Self:
        """Add an entry behind the tail: in a turn of its own, unless one is named."""
        entry = Entry(self.head + 1, turn or self.next_turn, body, now_ms)
        return replace(self, entries=(*self.entries, entry))

    def with_call(self, call: Call, state: CallState | None = None) -> Self:
        changed = call if state is None else replace(call, state=state)
        return replace(self, calls={**self.calls, call.call_id: changed})

    def drop(self, reason: str) -> Self:
        return replace(self, dropped=(*self.dropped, reason))

    def commit(self, commit_id: str, gave_up: GaveUp | None = None) -> Commit:
        """Return the transaction that makes this draft durable, conditional on the version it was drafted on."""
        row = replace(
            self.thread.row,
            head=self.head,
            version=self.thread.row.version + 1,
            commit_id=commit_id,
            person=self.person,
            tokens=self.tokens,
            gave_up=gave_up,
        )
        consumed = tuple(message.key for message in self.consumed)
        return Commit(row, self.entries, tuple(self.calls.values()), consumed)
