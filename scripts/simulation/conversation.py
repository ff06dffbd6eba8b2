"""One thread as its acknowledged commits made it, and what each further commit must keep to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from runtime.model.calls import Call, CallState
from runtime.model.entries import Entry, ToolCall, ToolResult
from runtime.model.messages import Message, MessageKey
from runtime.model.threads import Commit, GaveUp
from scripts.simulation.expectation import Expectation, Row
from scripts.simulation.violation import require

_NEXT: Mapping[CallState, frozenset[CallState]] = {
    "pending": frozenset({"answered", "detached", "subscribed", "failed", "cancelled", "ended"}),
    "detached": frozenset({"answered", "subscribed", "failed", "cancelled"}),
    "failed": frozenset({"answered", "subscribed"}),
    "subscribed": frozenset({"ended"}),
    "answered": frozenset(),
    "cancelled": frozenset(),
    "ended": frozenset(),
}


@dataclass(slots=True)
class Conversation:
    """`consumed` holds, for each message, the version and the head of the commit that consumed it."""

    thread_id: str
    version: int = 0
    entries: list[Entry] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    consumed: dict[MessageKey, tuple[int, int]] = field(default_factory=dict)
    gave_up: dict[int, GaveUp] = field(default_factory=dict)

    @property
    def head(self) -> int:
        return len(self.entries)

    @property
    def asks(self) -> bool:
        return bool(self.entries) and self.entries[-1].asks

    def add(self, commit: Commit, messages: Sequence[Message]) -> None:
        """Take over a commit that was written.

        Raises:
            Violation: it should not have been.
        """
        self._check_order(commit)
        self._check_messages(commit, messages)
        for call in commit.calls:
            self._check_state(call)
        self._write(commit)
        self._check_tail()

    def _check_order(self, commit: Commit) -> None:
        at = f"{self.thread_id} at version {commit.row.version}"
        require(commit.row.version == self.version + 1, "every commit builds on the one before", at)
        positions = [entry.position for entry in commit.entries]
        dense = list(range(self.head + 1, self.head + 1 + len(positions)))
        require(positions == dense and commit.row.head == self.head + len(positions), "positions are dense", at)
        twice = [key for key in commit.consumed if key in self.consumed]
        require(not twice, "a message is consumed once", f"{at}: {twice}")

    def _check_messages(self, commit: Commit, messages: Sequence[Message]) -> None:
        expected = Expectation.of(self.calls, messages)
        rows = [_row(entry) for entry in commit.entries]
        count = len(expected.rows)
        at = f"{self.thread_id} at version {commit.row.version}: {rows}, not {expected.rows}"
        require(rows[:count] == expected.rows, "a message does to history what its row of the table says", at)
        strange = [row for row in rows[count:] if row[2] is not None or row[0] in ("user", "event")]
        require(not strange, "only messages bring what a message brings", at)
        changed = {call.call_id: call.state for call in commit.calls}
        for call_id, state in expected.states.items():
            now = changed.get(call_id, self.calls[call_id].state)
            fits = now == state or (state == "detached" and now == "cancelled")
            require(fits, "a call is in the state its row of the table says", f"{call_id}: {now}, not {state}")

    def _check_state(self, call: Call) -> None:
        before = self.calls.get(call.call_id)
        fits = call.state == "pending" if before is None else before.state == call.state
        fits = fits or (before is not None and call.state in _NEXT[before.state])
        require(fits, "calls change states as they may", f"{call.call_id}: {before} to {call.state}")

    def _write(self, commit: Commit) -> None:
        for position in commit.withheld:
            self.entries[position - 1] = replace(self.entries[position - 1], withheld=commit.withheld_code)
        for entry in commit.entries:
            self._check_pairing(entry)
            self.entries.append(entry)
        self.calls |= {call.call_id: call for call in commit.calls}
        self.version = commit.row.version
        self.consumed |= dict.fromkeys(commit.consumed, (self.version, self.head))
        if commit.row.gave_up is not None:
            self.gave_up[self.version] = commit.row.gave_up

    def _check_pairing(self, entry: Entry) -> None:
        before = self.entries[-1].body if self.entries else None
        called = before.call_id if isinstance(before, ToolCall) else None
        answers = entry.body.call_id if isinstance(entry.body, ToolResult) else None
        at = f"{self.thread_id}: {entry.body.kind} at {entry.position}"
        require(called == answers, "every call is answered once, and directly", at)
        require(before is not None or entry.body.kind == "user", "a conversation begins with a user", at)

    def _check_tail(self) -> None:
        tail = self.entries[-1].body if self.entries else None
        waiting = [call.call_id for call in self.calls.values() if call.state == "pending"]
        expected = [tail.call_id] if isinstance(tail, ToolCall) else []
        at = f"{self.thread_id}: pending {waiting}, tail {tail and tail.kind}"
        require(waiting == expected, "a call is pending if and only if it is the tail", at)


def _row(entry: Entry) -> Row:
    return (entry.body.kind, getattr(entry.body, "call_id", None), getattr(entry.body, "cause", None))
