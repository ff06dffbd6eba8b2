"""What messages must do to history, written a second time and apart from the runtime: the table of its contract."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from runtime.model.calls import Call, CallState
from runtime.model.messages import Message, ResultContent, TextContent, TimerContent, UndeliveredContent

Row = tuple[str, str | None, str | None]  # kind of the entry, the call it is about, the message that caused it
_RUNNING_ON: Mapping[str, CallState] = {"continue": "detached", "cancel": "cancelled", "end": "answered"}


@dataclass(slots=True)
class Expectation:
    """`rows` are the entries that messages must append, `states` what their calls must be in afterwards."""

    calls: Mapping[str, Call]
    states: dict[str, CallState] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    @classmethod
    def of(cls, calls: Mapping[str, Call], messages: Iterable[Message] = ()) -> "Expectation":
        expectation = cls(calls, {call_id: call.state for call_id, call in calls.items()})
        for message in messages:
            expectation._take(message)
        return expectation

    def changes(self, message: Message) -> bool:
        """Return whether the message, taken next, may not be dropped."""
        match message.content:
            case TextContent():
                return True
            case ResultContent(call_id=call_id):
                return self.states.get(call_id) in ("pending", "detached", "failed")
            case UndeliveredContent(call_id=call_id):
                return self.states.get(call_id) in ("pending", "detached")
            case TimerContent(call_id=call_id):
                return self.states.get(call_id) == "pending"
            case _:
                return False

    def _take(self, message: Message) -> None:
        if not self.changes(message):
            return
        cause = message.key.message_id
        match message.content:
            case TextContent():
                self._detach()
                self.rows.append(("user", None, cause))
            case ResultContent(call_id=call_id, subscription=subscription):
                self._arrive(call_id, cause, "subscribed" if subscription else "answered")
            case UndeliveredContent(call_id=call_id):
                self._arrive(call_id, cause, "failed")
            case TimerContent(call_id=call_id):
                self._arrive(call_id, cause, "answered")
            case _:
                return

    def _arrive(self, call_id: str, cause: str, state: CallState) -> None:
        if self.states[call_id] == "pending":
            self.rows.append(("tool_result", call_id, cause))
        else:
            self._detach()
            self.rows.append(("event", call_id, cause))
        self.states[call_id] = state

    def _detach(self) -> None:
        for call_id, state in self.states.items():
            if state == "pending":
                self.rows.append(("tool_result", call_id, None))
                self.states[call_id] = _RUNNING_ON[self.calls[call_id].target.on_interrupt]
                return
