"""The system under test: the memory ports behind one input queue, watched, and processes to run slices in."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from queue import LifoQueue
from typing import ParamSpec, TypeVar

from runtime.adapters.memory.choices import MemoryChoices, MemoryViews
from runtime.adapters.memory.clock import ManualClock
from runtime.adapters.memory.fifo import FifoQueue, Received, Redrive
from runtime.adapters.memory.fifo_limits import Sending
from runtime.adapters.memory.history import MemoryHistory
from runtime.adapters.memory.keyring import FixedKeyring
from runtime.adapters.memory.manifests import MemoryManifests
from runtime.adapters.memory.payloads import MemoryPayloads
from runtime.adapters.memory.queues import MemoryInputQueue, MemoryQueues
from runtime.adapters.memory.receipts import MemoryReceipts
from runtime.adapters.memory.timers import MemoryTimers
from runtime.batch import Workers, run_batch
from runtime.identity import answer_message_id, deduplication_id, digest
from runtime.model.choices import Choice
from runtime.model.messages import ChoiceAnswerContent, Message, MessageKey, TextContent
from runtime.ports import Choices, Clock, History, Key, Ports, Queues, RawRecord, Receipts
from runtime.receive import ReceiverPorts
from runtime.run import Environment
from runtime.tools.offers import Offers
from runtime.tools.toolsets import Toolsets
from runtime.wire.messages import body_hash
from runtime.wire.text import canonical_json
from scripts.simulation.answers import Answers
from scripts.simulation.ledger import Ledger
from scripts.simulation.process import Call, Process, Stepped
from scripts.simulation.profile import Profile
from scripts.simulation.tools import Tools
from scripts.simulation.verdicts import Verdicts
from scripts.simulation.violation import require
from scripts.simulation.watched import WatchedChoices, WatchedHistory, WatchedQueues, WatchedReceipts, WatchedTimers

P = ParamSpec("P")
T = TypeVar("T")

_STEPPED = ("history", "receipts", "manifests", "queues", "timers", "payloads", "model", "servers", "choices")


class System:
    """Some ports may be given, to see what becomes of others than those in memory."""

    def __init__(
        self,
        profile: Profile,
        history: Callable[[], History] = MemoryHistory,
        receipts: Callable[[Clock, int], Receipts] = MemoryReceipts,
        timers: Callable[[Clock, Queues], MemoryTimers] = MemoryTimers,
        choices: Callable[[], Choices] = MemoryChoices,
    ) -> None:
        self.profile = profile
        self.settings = profile.runtime_settings()
        self.clock = ManualClock()
        self.dead_letters = FifoQueue(self.clock)
        redrive = Redrive(self.dead_letters, profile.max_receives)
        self.inputs = FifoQueue(self.clock, visibility_s=self.settings.visibility_s, redrive=redrive)
        self.met: Counter[str] = Counter()  # what slices counted, how often errors came up, what there was in history
        self.ledger = Ledger(self.settings, self.met)
        self.verdicts = Verdicts(self.settings.deaths_before_withholding)
        self.tools = Tools()
        self.answers = Answers()
        self.acting = ""
        self.nonsense: set[str] = set()
        keyring = FixedKeyring(Key("k", b"simulated", 0))
        sending = MemoryQueues(self.inputs, FifoQueue(self.clock), keyring, self.clock)
        self.queues = WatchedQueues(sending, self.ledger)
        self.timers = timers(self.clock, self.queues)
        kept = receipts(self.clock, self.settings.receipt_life_s)
        self.ports = Ports(
            history=WatchedHistory(history(), self.ledger),
            receipts=WatchedReceipts(kept, self.ledger, self.verdicts, lambda: self.acting),
            choices=WatchedChoices(choices(), self.ledger),
            manifests=MemoryManifests(self.clock, self.settings.manifest_life_s),
            queues=self.queues,
            timers=WatchedTimers(self.timers, self.ledger),
            payloads=MemoryPayloads(),
            model=self.answers,
            servers=self.tools,
            keyring=keyring,
            clock=self.clock,
        )
        self.views = MemoryViews()
        self._offers = Offers(Toolsets(self.settings.tool_servers, self.settings.manifest_refetch_s))

    @property
    def receiver(self) -> ReceiverPorts:
        return ReceiverPorts(self.ports.keyring, self.queues, self.ports.payloads, self.views, self.clock)

    def say(self, thread_id: str, text: str, message_id: str | None) -> None:
        """Speak, as any front end does; without an id the queue's own counts."""
        # Without the words themselves: a summary names the user, and what is bad about some words is not to come back.
        metadata = {"user_id": f"who said {text.rpartition(' ')[2]}"}
        body = {"group_id": thread_id, "content": {"type": "text", "text": text}, "metadata": metadata}
        given = {} if message_id is None else {"message_id": message_id}
        sending = Sending(
            thread_id, deduplication_id(thread_id, "text", message_id or text), canonical_json(body | given)
        )
        record_id = self.inputs.send(sending)
        content = TextContent(text, metadata)
        key = _identity(message_id or record_id)
        self.ledger.accepted(Message(thread_id, key, content, body_hash(content)))

    def choose(self, choice: Choice, selected: int, number: int) -> None:
        """Make a choice, as any front end does. `number` tells the message from an earlier one."""
        content = ChoiceAnswerContent(choice.choice_id, selected)
        fields = {"type": "user_choice_answer", "id": choice.choice_id, "selected": selected}
        body = {"group_id": choice.thread_id, "content": fields}
        name = digest("choice", choice.choice_id, selected, number)
        self.inputs.send(Sending(choice.thread_id, name, canonical_json(body)))
        key = MessageKey("user_choice_answer", answer_message_id(choice.choice_id))
        self.ledger.accepted(Message(choice.thread_id, key, content, body_hash(content)))

    def send_nonsense(self, thread_id: str, number: int) -> None:
        """Send what nobody may send: a result that is not ours."""
        body = {"group_id": thread_id, "content": {"type": "tool_result", "id": f"call_{number}", "content": "forged"}}
        self.inputs.send(Sending(thread_id, digest("nonsense", number), canonical_json(body)))
        self.nonsense.add(canonical_json(body))

    def deliver(self, name: str) -> tuple[Process, Sequence[Received]] | None:
        """Hand out what can be had to a new process, which stops before its first call; None if there is nothing."""
        received = self.inputs.receive(self.profile.batch)
        if not received:
            return None
        records = [one.record for one in received]
        return Process(name, lambda process: self._handle(records, process)), received

    def redrive(self) -> int:
        """Put dead letters back as the project's script does: with the id that they had. Return how many."""
        count = 0
        for one in self.dead_letters.receive(10):
            self.dead_letters.delete(one.record.handle)
            if "reason" in one.attributes:
                self.nonsense.discard(one.record.body)
                continue
            count += 1
            self._put_back(one.record)
        return count

    def _put_back(self, record: RawRecord) -> None:
        fields = json.loads(record.body)
        fields.setdefault("message_id", record.record_id)
        if fields["content"]["type"] == "text":
            self.ledger.redriven.add((record.group_id, _identity(fields["message_id"])))
        name = digest("redrive", record.record_id, self.clock.now_ms())
        self.inputs.send(Sending(record.group_id, name, canonical_json(fields)))

    def _handle(self, records: Sequence[RawRecord], process: Process) -> None:
        """What the process does: a batch, and then what the event source does with its answer."""
        result = run_batch(records, self._workers(process), self.profile.slice_s)
        require("defect" not in result.counted, "no slice fails unexpectedly", f"{result}")
        self.met.update(result.counted)
        handled = [record for record in records if record.record_id not in result.failed]
        process.stop_at(Call("queue", "delete", tuple(handled), lambda: self._delete(handled)))

    def _delete(self, records: Sequence[RawRecord]) -> None:
        for record in records:
            self.inputs.delete(record.handle)

    def _workers(self, process: Process) -> Workers:
        names = (*_STEPPED, "keyring") if self.profile.keys else _STEPPED
        stepped = {name: Stepped(name, getattr(self.ports, name), process) for name in names}
        idle: LifoQueue[Environment] = LifoQueue()
        idle.put(Environment(replace(self.ports, **stepped), self.settings, self._offers))
        queue = Stepped("queue", MemoryInputQueue(self.inputs, self.dead_letters), process)
        return Workers(
            idle=idle,
            executor=_InTurn(),
            input_queue=queue,
            clock=self.clock,
            visibility_s=self.settings.visibility_s,
            alone_from_receive=self.settings.mark_from_receive,
        )


def _identity(message_id: str) -> MessageKey:
    return MessageKey("text", f"user:{message_id}")


class _InTurn(Executor):
    """Threads of a batch one after the other: it is processes that run side by side here."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        future.set_result(fn(*args, **kwargs))
        return future
