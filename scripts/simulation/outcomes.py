"""What becomes of a call that a process makes: it is made, or not, or made and its reply lost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.errors import HandOverFailed, OutcomeUnknown, PermanentError, RuntimeProblem, Unavailable
from runtime.model.threads import Commit
from scripts.simulation.answers import FAILURES, check
from scripts.simulation.process import Call, Process, ProcessDied
from scripts.simulation.profile import Fault
from scripts.simulation.system import System
from scripts.simulation.tools import refuse
from scripts.simulation.turns import TURNS, Scene
from scripts.simulation.violation import require

# What may become of a call besides "ok", by its name.
DEATHS: tuple[tuple[str, Fault], ...] = (("dies before", "death"), ("dies after", "death"))
_AWAY: tuple[tuple[str, Fault], ...] = (("is away", "outage"),)
_LOST: tuple[tuple[str, Fault], ...] = (*_AWAY, ("loses the reply", "outage"))
OUTCOMES: Mapping[str, tuple[tuple[str, Fault], ...]] = {
    "history.load": _AWAY,
    "history.commit": (
        *_AWAY,
        ("is unknown and did not happen", "unknown"),
        ("is unknown and happened", "unknown"),
        ("is unknown and happens later", "unknown"),
    ),
    "receipts.read": _AWAY,
    "receipts.write": _LOST,
    "receipts.mark": _LOST,
    "queues.send_inputs": _LOST,
    "queues.send_outputs": (*_LOST, ("sends half", "outage")),
    "history.ended_with": _AWAY,
    "choices.put": _LOST,
    "choices.get": _AWAY,
    "choices.of_call": _AWAY,
    "choices.complete": _LOST,
    "timers.start": _LOST,
    "timers.stop": _LOST,
    "payloads.get": (*_AWAY, ("finds nothing", "outage")),
    "keyring.find": _AWAY,
    "keyring.signing": _AWAY,
    "queue.postpone": _AWAY,
    "queue.park": _LOST,
    "servers.manifest": _AWAY,
    "manifests.read": _AWAY,
    "manifests.write": _AWAY,
    "servers.invoke": (*_AWAY, ("is refused", "refusal"), ("takes it and breaks", "refusal")),
    "model.complete": tuple((failure, "model") for failure in FAILURES),
}


@dataclass(frozen=True, slots=True)
class Answer:
    value: Any = None
    error: BaseException | None = None


class Outcomes:
    """`late` collects commits that may still happen; while `model_is_away`, nobody gets an answer of it."""

    def __init__(self, system: System, late: list[Commit]) -> None:
        self._system = system
        self._late = late
        self._overloaded: set[str] = set()
        self.model_is_away = False

    def of(self, process: Process, call: Call, how: str) -> Answer | None:
        """Make of the call what `how` says; None if that cannot become of this call."""
        if not can_become(call, how):
            return None
        self._tell_verdicts(process, call, how)
        match how:
            case "ok" if call.name == "model.complete" and self._is_overloaded(process):
                return self._said(process, call, "is overloaded")
            case "ok":
                return self._made(process, call)
            case "dies before":
                return Answer(error=ProcessDied())
            case "dies after":
                self._made(process, call)
                return Answer(error=ProcessDied())
            case "is away":
                return Answer(error=Unavailable())
            case "loses the reply":
                self._made(process, call)
                return Answer(error=Unavailable())
            case _:
                return self._particular(process, call, how)

    def _is_overloaded(self, process: Process) -> bool:
        return self.model_is_away or process.name in self._overloaded

    def _tell_verdicts(self, process: Process, call: Call, how: str) -> None:
        if call.name == "history.commit":
            self._system.verdicts.judge(process.name, call.arguments[0])
        if call.name == "receipts.mark" and how != "ok":
            self._system.verdicts.could_not_mark(process.name)
        if call.name == "timers.stop" and how == "is away":
            self._system.ledger.stopped.add(call.arguments[0])  # who has no more patience lets it go

    def _made(self, process: Process, call: Call) -> Answer:
        body = call.arguments[0].body if call.name == "servers.invoke" else {}
        if "operation" in body:
            stored = body["id"] in self._system.ledger.conversation(body["group_id"]).calls
            require(stored, "only what is stored is handed over", body["id"])
        try:
            value = call.act()
        except (RuntimeProblem, HandOverFailed) as error:
            self._system.met[error.code] += 1
            if call.name == "model.complete":
                self._system.verdicts.refused(process.name)
            return Answer(error=error)
        if "operation" in body:
            self._system.ledger.handed_over.add(body["id"])
        return Answer(value)

    def _particular(self, process: Process, call: Call, how: str) -> Answer | None:
        match call.name:
            case "history.commit":
                return self._unknown(process, call, how)
            case "model.complete":
                return self._said(process, call, how)
            case "servers.invoke":
                return self._not_taken(process, call, how)
            case "queues.send_outputs" if how == "sends half":
                outputs = call.arguments[0]
                self._system.queues.send_outputs(outputs[: len(outputs) // 2])
                return Answer(error=Unavailable())
            case "payloads.get" if how == "finds nothing":
                return Answer(error=PermanentError())
            case _:
                return None

    def _unknown(self, process: Process, call: Call, how: str) -> Answer | None:
        if how == "is unknown and happened":
            made = self._made(process, call)
            return made if made.error is not None else Answer(error=OutcomeUnknown())
        if how == "is unknown and happens later":
            self._late.append(call.arguments[0])
        elif how != "is unknown and did not happen":
            return None
        return Answer(error=OutcomeUnknown())

    def _said(self, process: Process, call: Call, how: str) -> Answer | None:
        check(call.arguments[0])
        if how in FAILURES:
            if how == "is overloaded":  # and so it stays for as long as this process tries
                self._overloaded.add(process.name)
            error = FAILURES[how]()
            if isinstance(error, PermanentError):
                self._system.verdicts.refused(process.name)
            return Answer(error=error)
        if how not in TURNS:
            return None
        return Answer(self._system.answers.turn(how, self._scene(process.thread_id)))

    def _scene(self, thread_id: str) -> Scene:
        stack = self._system.ledger.stack(thread_id)
        own = stack[-1]
        return Scene(
            stack=tuple(each.thread_id for each in stack),
            children=tuple(own.children),
            detached=tuple(call.call_id for call in own.calls.values() if call.state == "detached"),
            subscribed=tuple(call.call_id for call in own.calls.values() if call.state == "subscribed"),
        )

    def _not_taken(self, process: Process, call: Call, how: str) -> Answer | None:
        if how == "takes it and breaks":
            self._made(process, call)
        elif how != "is refused":
            return None
        return Answer(error=refuse())


def can_become(call: Call, how: str) -> bool:
    """Return whether this can become of such a call at all: what moves that were left out led to may be another."""
    failures = {name for name, _ in (*DEATHS, *OUTCOMES.get(call.name, ()))}
    return how == "ok" or how in failures or (call.name == "model.complete" and how in TURNS)
