"""The ports in memory, each telling the ledger what has happened once it has."""

from collections.abc import Callable, Sequence

from runtime.model.choices import Choice
from runtime.model.messages import Message, MessageKey
from runtime.model.outputs import Output
from runtime.model.threads import Commit, EndedThread, Thread, Wanted
from runtime.ports import Choices, History, Mark, Progress, Queues, Receipts, Timer, Timers
from scripts.simulation.ledger import Ledger
from scripts.simulation.verdicts import Verdicts


class WatchedHistory:
    def __init__(self, history: History, ledger: Ledger) -> None:
        self._history = history
        self._ledger = ledger

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        thread = self._history.load(thread_id, wanted)
        if wanted.entries == "visible":
            self._ledger.conversation(thread_id).check_inherited(thread)
        return thread

    def commit(self, commit: Commit) -> None:
        self._history.commit(commit)
        self._ledger.committed(commit)

    def ended_with(self, thread_id: str) -> tuple[EndedThread, ...]:
        return self._history.ended_with(thread_id)


class WatchedReceipts:
    def __init__(self, receipts: Receipts, ledger: Ledger, verdicts: Verdicts, acting: Callable[[], str]) -> None:
        self._receipts = receipts
        self._ledger = ledger
        self._verdicts = verdicts
        self._acting = acting

    def read(self, thread_id: str, keys: Sequence[MessageKey]) -> Progress:
        self._verdicts.looked(self._acting(), thread_id)
        return self._receipts.read(thread_id, keys)

    def write(self, thread_id: str, handled: Sequence[Message], performed: int) -> None:
        self._receipts.write(thread_id, handled, performed)
        self._ledger.receipted(thread_id, handled, performed)

    def mark(self, thread_id: str, mark: Mark | None) -> None:
        self._receipts.mark(thread_id, mark)
        self._verdicts.marked(self._acting(), thread_id, mark)


class WatchedChoices:
    def __init__(self, choices: Choices, ledger: Ledger) -> None:
        self._choices = choices
        self._ledger = ledger

    def put(self, choice: Choice) -> None:
        self._choices.put(choice)
        self._ledger.choices.setdefault(choice.choice_id, choice)

    def get(self, thread_id: str, choice_id: str) -> Choice | None:
        return self._choices.get(thread_id, choice_id)

    def of_thread(self, thread_id: str) -> tuple[Choice, ...]:
        return self._choices.of_thread(thread_id)

    def complete(self, thread_id: str, choice_id: str, answered: int | None) -> None:
        self._ledger.completed(thread_id, choice_id)
        self._choices.complete(thread_id, choice_id, answered)


class WatchedQueues:
    def __init__(self, queues: Queues, ledger: Ledger) -> None:
        self._queues = queues
        self._ledger = ledger

    def send_inputs(self, messages: Sequence[Message]) -> None:
        self._queues.send_inputs(messages)
        for message in messages:
            self._ledger.accepted(message)

    def send_outputs(self, outputs: Sequence[Output]) -> None:
        self._queues.send_outputs(outputs)
        for output in outputs:
            self._ledger.said(output)


class WatchedTimers:
    def __init__(self, timers: Timers, ledger: Ledger) -> None:
        self._timers = timers
        self._ledger = ledger

    def start(self, timer: Timer) -> None:
        self._timers.start(timer)
        self._ledger.timers.setdefault(timer.name, timer)

    def stop(self, name: str) -> None:
        self._timers.stop(name)
        self._ledger.stopped.add(name)
