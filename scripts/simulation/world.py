"""A system, the processes that run in it, and one move at a time."""

import json
from dataclasses import dataclass

from runtime.errors import StartAgain
from runtime.model.threads import Commit
from scripts.simulation.answers import SAID_BADLY
from scripts.simulation.outcomes import Outcomes
from scripts.simulation.process import Call, Process
from scripts.simulation.profile import Fault
from scripts.simulation.system import System
from scripts.simulation.tools import WORDS, Taken, long
from scripts.simulation.turns import TURNS

SPOKEN = ("is spoken to", "is spoken to without an id", *(f"is told {word}" for word in SAID_BADLY))
_LONG_S = {"makes the queue forget": 301, "makes receipts expire": 61 * 86_400}


@dataclass(frozen=True, slots=True)
class Move:
    """`who` is a process, a thread, a tool, …; `how` is what it does, or what becomes of it."""

    who: str
    how: str

    def __str__(self) -> str:
        return f"{self.who} {self.how}"


@dataclass(frozen=True, slots=True)
class Spoken:
    thread_id: str
    text: str
    message_id: str | None


class World:
    """`trace` tells what was done. `late` are commits that nobody knows about and that may still happen."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.faults = dict(system.profile.faults)
        self.texts = system.profile.texts
        self.turns = system.profile.turns
        self.events = system.profile.events
        self.processes: dict[str, Process] = {}
        self.started = 0
        self.late: list[Commit] = []
        self.said: list[Spoken] = []
        self.answered: set[str] = set()  # choices that somebody has made
        self.trace: list[str] = []
        self.outcomes = Outcomes(system, self.late)

    @property
    def alive(self) -> list[Process]:
        return [process for process in self.processes.values() if process.is_alive]

    @property
    def children(self) -> list[str]:
        """Threads that began in others and may be spoken to, each by its place in the order of birth."""
        births = [each.birth.kind for each in self.system.ledger.conversations.values() if each.birth.lineage]
        return [f"child {index}" for index, kind in enumerate(births) if kind != "compaction"]

    def close(self) -> None:
        for process in self.alive:
            while process.is_alive:
                process.kill()

    def pay(self, move: Move, fault: Fault | None) -> None:
        """Take what a move costs from what the profile allows."""
        if fault is not None:
            self.faults[fault] -= 1
        if move.how in TURNS:
            self.turns -= 1
        if move.how in WORDS:
            self.events -= 1
        if move.how in SPOKEN:
            self.texts -= 1

    def do(self, move: Move) -> bool:
        """Make the move, if it can be made now; return whether it was.

        Raises:
            Violation: it broke a promise.
        """
        process = self.processes.get(move.who)
        if process is not None:
            return process.is_alive and self._step(process, move.how)
        kind, _, number = move.who.partition(" ")
        by_kind = {
            "time": self._pass_time,
            "timers": self._go_off_when_due,
            "timer": self._go_off,
            "tool": self._answer,
            "commit": self._land,
            "text": self._say_again,
            "letters": self._put_back,
            "model": self._come_or_go,
            "child": self._speak_to_child,
            "choice": self._choose,
        }
        if kind in by_kind:
            return by_kind[kind](move, int(number or 0))
        return self._receive(move) if move.how == "receives" else self._speak(move, move.who)

    def _tell(self, move: Move, *more: object) -> None:
        self.trace.append(" ".join(map(str, (move, *more))))

    def _receive(self, move: Move) -> bool:
        delivered = self.system.deliver(move.who)
        if delivered is None:
            return False
        process, received = delivered
        self.started += 1
        self.processes[move.who] = process
        records = [one.record for one in received]
        self._tell(move, *(f"{record.group_id}:{_label(record.body)}#{record.receive_count}" for record in records))
        process.start()
        self._require_no_failure(process)
        return True

    def _speak_to_child(self, move: Move, index: int) -> bool:
        born = [each.thread_id for each in self.system.ledger.conversations.values() if each.birth.lineage]
        return index < len(born) and self._speak(move, born[index])

    def _choose(self, move: Move, index: int) -> bool:
        shown = self.system.ledger.shown_choices
        if index >= len(shown):
            return False
        self.answered.add(shown[index].choice_id)
        selected = {"is made": 1, "is made badly": 7}.get(move.how, 0)
        self.system.choose(shown[index], selected, self.started)
        self._tell(move)
        return True

    def _speak(self, move: Move, thread_id: str) -> bool:
        number = len(self.said) + 1
        match move.how:
            case "is spoken to":
                spoken = Spoken(thread_id, f"text {number}", f"m{number}")
            case "is spoken to without an id":
                spoken = Spoken(thread_id, f"text {number}", None)
            case "is told poison" | "is told forbidden" | "is told huge":
                spoken = Spoken(thread_id, f"{move.how.rpartition(' ')[2]} {number}", f"m{number}")
            case "is sent nonsense":
                self.system.send_nonsense(move.who, self.started)
                self._tell(move)
                return True
            case _:
                return False
        self.said.append(spoken)
        self.system.say(spoken.thread_id, spoken.text, spoken.message_id)
        self._tell(move, f"({spoken.text})")
        return True

    def _say_again(self, move: Move, index: int) -> bool:
        if index >= len(self.said) or self.said[index].message_id is None:
            return False  # without an id it would be another message
        spoken = self.said[index]
        self.system.say(spoken.thread_id, spoken.text, spoken.message_id)
        self._tell(move)
        return True

    def _pass_time(self, move: Move, _: int) -> bool:
        clock = self.system.clock
        times = [self.system.inputs.next_visible_ms(), self.system.timers.next_due_ms()]
        later = [at_ms - clock.now_ms() for at_ms in times if at_ms is not None and at_ms > clock.now_ms()]
        seconds = _LONG_S.get(move.how, min(later, default=0) / 1000)
        if not seconds:
            return False
        clock.advance(seconds)
        self._tell(move, f"{seconds:g} s")
        return True

    def _go_off_when_due(self, move: Move, _: int) -> bool:
        self._tell(move, self.system.timers.fire_due())
        return True

    def _come_or_go(self, move: Move, _: int) -> bool:
        self.outcomes.model_is_away = move.how == "goes away"
        self._tell(move)
        return True

    def _put_back(self, move: Move, _: int) -> bool:
        self._tell(move, self.system.redrive())
        return True

    def _go_off(self, move: Move, index: int) -> bool:
        timers = list(self.system.ledger.timers.values())
        if index >= len(timers):
            return False
        self.system.queues.send_inputs((timers[index].message,))
        self._tell(move, timers[index].message.key.message_id)
        return True

    def _answer(self, move: Move, index: int) -> bool:
        taken = list(self.system.tools.taken.values())
        if index >= len(taken):
            return False
        if move.how in WORDS or move.how == "says that again":
            return self._say_word(move, taken[index])
        said = taken[index].answers
        text = said[-1] if said and move.how == "answers as before" else f"result {index}.{len(said)}"
        text = long(text) if move.how == "answers at length" else text
        goes_on = move.how == "answers and goes on"
        status = self.system.tools.answer(taken[index].call_id, text, self.system.receiver, goes_on=goes_on)
        self._tell(move, status)
        return True

    def _say_word(self, move: Move, taken: Taken) -> bool:
        if move.how == "says that again" and not taken.words:
            return False
        self._tell(move, self.system.tools.speak(taken.call_id, move.how, self.system.receiver))
        return True

    def _land(self, move: Move, index: int) -> bool:
        if index >= len(self.late):
            return False
        commit = self.late.pop(index)
        try:
            self.system.ports.history.commit(commit)
        except StartAgain:
            self._tell(move, "and is too late")
        else:
            self._tell(move, _commit(commit))
        return True

    def _step(self, process: Process, how: str) -> bool:
        call = process.call
        assert call is not None
        self.system.acting = process.name
        self.trace.append(f"{process.name} {call.name} {how}{_details(call)}")
        answer = self.outcomes.of(process, call, how)
        if answer is None:
            self.trace.pop()
            return False
        process.resume(answer.value, answer.error)
        self._require_no_failure(process)
        if not process.is_alive and not process.has_died:
            self.system.verdicts.ended_alive(process.name)
        return True

    def _require_no_failure(self, process: Process) -> None:
        if process.failure is not None:
            raise process.failure


def _details(call: Call) -> str:
    return f" ({_commit(call.arguments[0])})" if call.name == "history.commit" else ""


def _commit(commit: Commit) -> str:
    kinds = " ".join(f"{entry.position}:{entry.body.kind}" for entry in commit.entries)
    consumed = " ".join(key.message_id for key in commit.consumed)
    gave_up = f" gives up: {commit.row.gave_up.code}" if commit.row.gave_up else ""
    return f"version {commit.row.version} [{kinds}] consumes [{consumed}]{gave_up}"


def _label(body: str) -> str:
    fields = json.loads(body)
    return str(fields.get("message_id") or fields["content"].get("text") or fields["content"]["type"])
