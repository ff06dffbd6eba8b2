"""What messages must do to history, written a second time and apart from the runtime: the table of its contract."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from runtime.identity import child_id
from runtime.model.calls import Call, CallState
from runtime.model.messages import (
    BounceContent,
    CompactionContent,
    EventContent,
    Message,
    ParentContent,
    ReportContent,
    ResultContent,
    TextContent,
    TimerContent,
    UndeliveredContent,
)

Row = tuple[str, str | None, str | None]  # kind of the entry, the call it is about, the message that caused it
_RUNNING_ON: Mapping[str, CallState] = {"continue": "detached", "cancel": "cancelled", "end": "answered"}
_OPEN = ("pending", "detached", "failed")


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a message finds. `born`: threads that begin with the commit; `compacting`: the one that the mark names."""

    thread_id: str = ""
    born: frozenset[str] = frozenset()
    live_subscriptions: int = 50
    compacting: str | None = None


@dataclass(slots=True)
class Expectation:
    """`rows` are the entries that messages must append, `states` what their calls must be in afterwards.

    `threads` begin with the commit, one for each event; `inline` are events that found no room for one.
    """

    calls: Mapping[str, Call]
    found: Circumstances
    states: dict[str, CallState] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)
    threads: set[str] = field(default_factory=set)

    @classmethod
    def of(
        cls,
        calls: Mapping[str, Call],
        messages: Iterable[Message] = (),
        found: Circumstances = Circumstances(),
    ) -> "Expectation":
        expectation = cls(calls, found, {call_id: call.state for call_id, call in calls.items()})
        for message in messages:
            expectation._take(message)
        return expectation

    def changes(self, message: Message) -> bool:
        """Return whether the message, taken next, may not be dropped."""
        match message.content:
            case TextContent():
                return True
            case ResultContent(call_id=call_id):
                return self.states.get(call_id) in _OPEN
            case UndeliveredContent(call_id=call_id):
                return self.states.get(call_id) in ("pending", "detached")
            case TimerContent(call_id=call_id):
                return self.states.get(call_id) == "pending"
            case EventContent(call_id=call_id):
                state = self.states.get(call_id)
                return state == "subscribed" or (state in _OPEN and not self._too_many)
            case ReportContent(call_id=call_id) | ParentContent(call_id=call_id) | BounceContent(call_id=call_id):
                return call_id in self.states
            case CompactionContent(compaction_id=compaction_id):
                return compaction_id == self.found.compacting
            case _:
                return False

    @property
    def _too_many(self) -> bool:
        return list(self.states.values()).count("subscribed") >= self.found.live_subscriptions

    def _take(self, message: Message) -> None:
        if not self.changes(message):
            return
        cause = message.key.message_id
        match message.content:
            case TextContent():
                self._append("user", None, cause)
            case ResultContent(call_id=call_id, subscription=subscription):
                state: CallState = "subscribed" if subscription else "answered"
                self._arrive(call_id, cause, "cancelled" if subscription and self._too_many else state)
            case UndeliveredContent(call_id=call_id):
                self._arrive(call_id, cause, "failed")
            case TimerContent(call_id=call_id):
                self._arrive(call_id, cause, "answered" if self.calls[call_id].target.toolset is None else "detached")
            case EventContent():
                self._fire(message.content, cause)
            case ReportContent(call_id=call_id) | ParentContent(call_id=call_id) | BounceContent(call_id=call_id):
                self._append("event", call_id, cause)
            case _:
                return

    def _arrive(self, call_id: str, cause: str, state: CallState) -> None:
        if self.states[call_id] == "pending":
            self.rows.append(("tool_result", call_id, cause))
        else:
            self._append("event", call_id, cause)
        self.states[call_id] = state

    def _fire(self, content: EventContent, cause: str) -> None:
        """An event confirms its subscription, if need be, and goes into this history or to a thread of its own."""
        if self.states[content.call_id] == "pending":
            self.rows.append(("tool_result", content.call_id, None))
        self.states[content.call_id] = "ended" if content.final else "subscribed"
        thread_id = child_id(self.found.thread_id, cause)
        if not content.associative and thread_id in self.found.born:
            self.threads.add(thread_id)
            return
        if not content.associative:
            self.inline.append(cause)
        self._append("event", content.call_id, cause)

    def _append(self, kind: str, call_id: str | None, cause: str) -> None:
        """Add a row behind what the tail waits for, which is waited for no longer."""
        for pending, state in self.states.items():
            if state == "pending":
                self.rows.append(("tool_result", pending, None))
                self.states[pending] = _RUNNING_ON[self.calls[pending].target.on_interrupt]
                break
        self.rows.append((kind, call_id, cause))
