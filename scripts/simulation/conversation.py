"""One thread as its acknowledged commits made it, and what each further commit must keep to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from runtime.births import SPAWN_TOOL
from runtime.model.calls import Call, CallState
from runtime.model.entries import Entry, ToolCall, ToolResult
from runtime.model.messages import Message, MessageKey
from runtime.model.threads import Birth, Commit, Compaction, GaveUp, Summary, SummaryRef, Thread
from runtime.settings import Settings
from scripts.simulation.expectation import Circumstances, Expectation, Row
from scripts.simulation.violation import require

_NEXT: Mapping[CallState, frozenset[CallState]] = {
    "pending": frozenset({"answered", "detached", "subscribed", "failed", "cancelled", "ended"}),
    "detached": frozenset({"answered", "subscribed", "failed", "cancelled", "ended"}),
    "failed": frozenset({"answered", "subscribed", "cancelled", "ended"}),
    "subscribed": frozenset({"ended"}),
    "answered": frozenset(),
    "cancelled": frozenset(),
    "ended": frozenset(),
}
_KEPT_THOUGH_ANSWERED = (SPAWN_TOOL, "send_message_to_child")  # what is said about them later names them


@dataclass(slots=True)
class Conversation:
    """`entries` are its own, behind the `prefix` that it was born with; `children` are all that ever began here.

    `summary` is in use here; `written` is the one that this thread, a compaction, has made.

    `consumed` holds, for each message, the version and the head of the commit that consumed it.
    """

    thread_id: str
    settings: Settings
    birth: Birth = field(default_factory=Birth)
    prefix: tuple[Entry, ...] = ()
    version: int = 0
    entries: list[Entry] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    consumed: dict[MessageKey, tuple[int, int]] = field(default_factory=dict)
    gave_up: dict[int, GaveUp] = field(default_factory=dict)
    children: list[str] = field(default_factory=list)
    closed: bool = False
    compaction: Compaction | None = None
    summary: SummaryRef | None = None
    written: Summary | None = None

    @property
    def head(self) -> int:
        return self.birth.inherited + len(self.entries)

    @property
    def asks(self) -> bool:
        return bool(self.entries) and self.entries[-1].asks and not self.closed

    def entry(self, position: int) -> Entry:
        return self.entries[position - 1 - self.birth.inherited]

    def expects(self, messages: Sequence[Message] = (), born: frozenset[str] = frozenset()) -> Expectation:
        """Return what these messages must do to it now, in a commit with which these threads begin."""
        subscriptions = self.settings.live_subscriptions
        mark = self.compaction.thread_id if self.compaction else None
        return Expectation.of(self.calls, messages, Circumstances(self.thread_id, born, subscriptions, mark))

    def add(self, commit: Commit, messages: Sequence[Message]) -> None:
        """Take over a commit that was written.

        Raises:
            Violation: it should not have been.
        """
        self._check_order(commit)
        self._check_messages(commit, messages)
        for call in commit.calls:
            self._check_state(call)
        self._check_mark(commit)
        self._write(commit)
        self._check_tail()
        live = [call.call_id for call in self.calls.values() if call.is_live]
        require(not (self.closed and live), "what is live in a thread ends with it", f"{self.thread_id}: {live}")

    def check_inherited(self, thread: Thread) -> None:
        """Check that the thread, as it was read, begins as it was born, save what a summary stands for."""
        summarised = thread.row.summary.up_to if thread.row.summary else 0
        seen = [(entry.position, entry.body) for entry in thread.entries if entry.position <= self.birth.inherited]
        expected = [(entry.position, entry.body) for entry in self.prefix[summarised:]]
        require(seen == expected, "what a child inherits never changes", f"{self.thread_id}: {seen}, not {expected}")

    def close_with_ancestor(self) -> None:
        """Close because an ancestor did, which must make every commit under way here lose."""
        self.closed = True
        self.version += 1

    def _check_order(self, commit: Commit) -> None:
        at = f"{self.thread_id} at version {commit.row.version}"
        require(not self.closed, "nothing is added to what is closed", at)
        require(commit.row.version == self.version + 1, "every commit builds on the one before", at)
        positions = [entry.position for entry in commit.entries]
        dense = list(range(self.head + 1, self.head + 1 + len(positions)))
        require(positions == dense and commit.row.head == self.head + len(positions), "positions are dense", at)
        twice = [key for key in commit.consumed if key in self.consumed]
        require(not twice, "a message is consumed once", f"{at}: {twice}")

    def _check_messages(self, commit: Commit, messages: Sequence[Message]) -> None:
        expected = self.expects(messages, frozenset(new.row.thread_id for new in commit.created))
        rows = [_row(entry) for entry in commit.entries]
        count = len(expected.rows)
        at = f"{self.thread_id} at version {commit.row.version}: {rows}, not {expected.rows}"
        require(rows[:count] == expected.rows, "a message does to history what its row of the table says", at)
        asked = "user" if self.birth.kind == "spawned" else None  # whether to report or to close
        strange = [row for row in rows[count:] if row[2] is not None or row[0] in {"user", "event"} - {asked}]
        require(not strange, "only messages bring what a message brings", at)
        full = self._may_be_full(sum(new.row.counts for new in commit.created))
        require(not expected.inline or full, "an event that can have a thread of its own gets it", at)
        begun = {new.row.thread_id for new in commit.created if new.row.birth.kind == "event"}
        require(begun == expected.threads, "a thread for an event begins with the event", f"{at}: {begun}")
        changed = {call.call_id: call.state for call in commit.calls}
        for call_id, state in expected.states.items():
            now = changed.get(call_id, self.calls[call_id].state)
            cancelled = (state, now) in (("detached", "cancelled"), ("subscribed", "ended"))
            fits = now == state or cancelled or (commit.row.closed and now == "ended")
            require(fits, "a call is in the state its row of the table says", f"{call_id}: {now}, not {state}")

    def _may_be_full(self, begun: int) -> bool:
        """Whether an event may find no room: too many children may have been open, or this is no place for any."""
        below = self.birth.kind == "event" or len(self.birth.lineage) >= self.settings.thread_depth
        return below or len(self.children) + begun >= self.settings.live_children

    def _check_state(self, call: Call) -> None:
        before = self.calls.get(call.call_id)
        first = "answered" if call.name in _KEPT_THOUGH_ANSWERED else "pending"
        fits = call.state == first if before is None else before.state == call.state
        fits = fits or (before is not None and call.state in _NEXT[before.state])
        require(fits, "calls change states as they may", f"{call.call_id}: {before} to {call.state}")

    def _check_mark(self, commit: Commit) -> None:
        """A compaction in flight ends with its own end, or after so long a time that it is given up."""
        before, now = self.compaction, commit.row.compaction
        begun = now is not None and (before is None or before.thread_id != now.thread_id)
        at = f"{self.thread_id} at version {commit.row.version}: {before}, then {now}"
        created = {new.row.thread_id for new in commit.created if new.row.birth.kind == "compaction"}
        require(created == ({now.thread_id} if begun and now else set()), "a compaction begins with its mark", at)
        if before is None or before.failed_at is not None or now == before:
            return
        ended = MessageKey("compaction_complete", f"compacted:{before.thread_id}") in commit.consumed
        life_ms = self.settings.compaction_life_s * 1000
        expired = begun and now is not None and now.since_ms - before.since_ms >= life_ms
        require(ended or expired, "one compaction of a thread at a time", at)

    def _write(self, commit: Commit) -> None:
        for position in commit.withheld:
            at = f"{self.thread_id} {position}"
            require(position > self.birth.inherited, "a thread withholds what is its own", at)
            index = position - 1 - self.birth.inherited
            self.entries[index] = replace(self.entries[index], withheld=commit.withheld_code)
        for entry in commit.entries:
            self._check_pairing(entry)
            self.entries.append(entry)
        self.calls |= {call.call_id: call for call in commit.calls}
        self.version, self.closed, self.compaction = commit.row.version, commit.row.closed, commit.row.compaction
        self.summary, self.written = commit.row.summary, commit.summary or self.written
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
