"""Agents in this process: the same slices over ports in memory. For embedding, for trying things out, and for tests.

    with LocalSystem(model, [tool]) as system:
        agent = system.agent()
        agent.send_text("Is build 42 green yet?")
        for output in agent.outputs(timeout_s=5):
            print(output)

Nothing survives the process. With a `ManualClock` and without `with`, nothing happens until `settle` is called, and
then always the same: that is how tests use it.
"""

import json
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from queue import LifoQueue
from typing import Any, ParamSpec, TypeVar

from runtime.adapters.clock import SystemClock
from runtime.adapters.memory.choices import MemoryChoices, MemoryViews
from runtime.adapters.memory.fifo import FifoQueue, Received, Redrive
from runtime.adapters.memory.fifo_limits import Sending
from runtime.adapters.memory.history import MemoryHistory
from runtime.adapters.memory.keyring import FixedKeyring
from runtime.adapters.memory.manifests import MemoryManifests
from runtime.adapters.memory.payloads import MemoryPayloads
from runtime.adapters.memory.queues import MemoryInputQueue, MemoryQueues
from runtime.adapters.memory.receipts import MemoryReceipts
from runtime.adapters.memory.servers import MemoryServer, MemoryToolServers
from runtime.adapters.memory.timers import MemoryTimers
from runtime.batch import Workers, run_batch
from runtime.identity import answer_message_id, deduplication_id
from runtime.local_tools import SERVER, LocalServer
from runtime.local_tools import LocalCall as LocalCall
from runtime.local_tools import LocalTool as LocalTool
from runtime.model.entries import JsonObject
from runtime.ports import Clock, History, Key, Model, Ports
from runtime.receive import ReceiverLimits, ReceiverPorts
from runtime.run import Environment
from runtime.settings import Settings
from runtime.tools.offers import Offers
from runtime.tools.toolsets import Toolsets
from runtime.wire.text import canonical_json

_SLICE_S = 300.0
_LONGEST_WAIT_S = 1.0
_KNOWN_OUTPUTS = 1_000
_MAX_RECEIVES = 20  # as a deployment has it, if nothing else is chosen

P = ParamSpec("P")
T = TypeVar("T")


class Agent:
    """One conversation of a local system."""

    def __init__(self, system: "LocalSystem", thread_id: str) -> None:
        self.thread_id = thread_id
        self._system = system
        self._outputs: deque[JsonObject] = deque()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._arrived = threading.Condition()

    def send_text(self, text: str, *, message_id: str | None = None, metadata: JsonObject | None = None) -> None:
        """Say something. A repeat with the same `message_id` is recognised and changes nothing."""
        body: dict[str, Any] = {"group_id": self.thread_id, "content": {"type": "text", "text": text}}
        body |= {} if message_id is None else {"message_id": message_id}
        body |= {} if metadata is None else {"metadata": metadata}
        self._send("text", message_id or secrets.token_hex(16), body)

    def choose(self, choice_id: str, selected: int, *, thread_id: str | None = None) -> None:
        """Answer what a `user_choice_required` output asked, with an index into its choices; the first answer counts.

        `thread_id` is the output's, where a child asks.
        """
        content = {"type": "user_choice_answer", "id": choice_id, "selected": selected}
        body = {"group_id": thread_id or self.thread_id, "content": content}
        self._send("user_choice_answer", answer_message_id(choice_id), body)

    def outputs(self, timeout_s: float = 0) -> Iterator[JsonObject]:
        """Yield the agent's outputs, each once, as they come; end when none has come for `timeout_s`."""
        while (output := self._next(timeout_s)) is not None:
            yield output

    def receive(self, output: JsonObject) -> None:
        """Take an output over from the system. One that is known is a repeat and is dropped."""
        with self._arrived:
            if output["id"] in self._known:
                return
            self._known[output["id"]] = None
            if len(self._known) > _KNOWN_OUTPUTS:
                self._known.popitem(last=False)
            self._outputs.append(output)
            self._arrived.notify_all()

    def _send(self, message_type: str, message_id: str, body: JsonObject) -> None:
        group_id = body["group_id"]
        name = deduplication_id(group_id, message_type, message_id)
        self._system.inputs.send(Sending(group_id, name, canonical_json(body)))

    def _next(self, timeout_s: float) -> JsonObject | None:
        with self._arrived:
            self._arrived.wait_for(lambda: self._outputs, timeout_s)
            return self._outputs.popleft() if self._outputs else None


class LocalSystem:
    """Agents, their model and their tools. `ports` and `views` are open to whoever wants to look.

    With a `history` that several threads may not share, `worker_threads` in the settings must be 1.
    """

    def __init__(
        self,
        model: Model,
        tools: Sequence[LocalTool] = (),
        settings: Settings | None = None,
        *,
        clock: Clock | None = None,
        history: History | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        given = settings or Settings()
        self.settings = given.model_copy(update={"tool_servers": (SERVER,)} if tools else {})
        self.dead_letters = FifoQueue(self.clock)
        self.inputs = FifoQueue(
            self.clock, visibility_s=self.settings.visibility_s, redrive=Redrive(self.dead_letters, _MAX_RECEIVES)
        )
        self._outputs = FifoQueue(self.clock)
        self.views = MemoryViews()
        self._agents: dict[str, Agent] = {}
        self.ports, self.timers = self._ports(model, tools, history or MemoryHistory())
        self.workers = self._workers()
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()

    def agent(self, thread_id: str | None = None) -> Agent:
        """Return the agent of this thread id, or a new one."""
        thread_id = thread_id or f"agent-{secrets.token_hex(8)}"
        return self._agents.setdefault(thread_id, Agent(self, thread_id))

    def step(self) -> int:
        """Let due timers go off and handle one delivery; return how many records it had."""
        self.timers.fire_due()
        received = self.inputs.receive()
        if received:
            self._handle(received)
            self._publish()
        return len(received)

    def settle(self) -> None:
        """Step until nothing is left to do now; what is due later stays."""
        while self.step():
            pass

    def __enter__(self) -> "LocalSystem":
        for number in range(self.settings.worker_threads):
            thread = threading.Thread(target=self._work, name=f"agents-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(self, *_: object) -> None:
        """Finish the slices that run, and stop. Messages that wait are lost, as everything here."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while not self._stopping.is_set():
            if not self.step():
                self.inputs.wait(self._idle_s())

    def _idle_s(self) -> float:
        times = [at_ms for at_ms in (self.timers.next_due_ms(), self.inputs.next_visible_ms()) if at_ms is not None]
        left_s = (min(times) - self.clock.now_ms()) / 1000 if times else _LONGEST_WAIT_S
        return min(max(left_s, 0.01), _LONGEST_WAIT_S)

    def _handle(self, received: Sequence[Received]) -> None:
        failed = run_batch([one.record for one in received], self.workers, _SLICE_S).failed
        for one in received:
            if one.record.record_id not in failed:
                self.inputs.delete(one.record.handle)

    def _publish(self) -> None:
        while outputs := self._outputs.receive():
            for one in outputs:
                agent = self._agents.get(one.record.group_id)
                if agent is not None:
                    agent.receive(json.loads(one.record.body))
                self._outputs.delete(one.record.handle)

    def _ports(self, model: Model, tools: Sequence[LocalTool], history: History) -> tuple[Ports, MemoryTimers]:
        keyring, payloads = FixedKeyring(Key("local", secrets.token_bytes(32), 0)), MemoryPayloads()
        queues = MemoryQueues(self.inputs, self._outputs, keyring, self.clock)
        limits = ReceiverLimits(self.settings.callback_body_limit_bytes, self.settings.inline_bytes)
        server = LocalServer(tools, ReceiverPorts(keyring, queues, payloads, self.views, self.clock), limits)
        timers = MemoryTimers(self.clock, queues)
        ports = Ports(
            history=history,
            receipts=MemoryReceipts(self.clock, self.settings.receipt_life_s),
            choices=MemoryChoices(),
            manifests=MemoryManifests(self.clock, self.settings.manifest_life_s),
            queues=queues,
            timers=timers,
            payloads=payloads,
            model=model,
            servers=MemoryToolServers({SERVER.name: MemoryServer(server.manifest_json, server.accept)}),
            keyring=keyring,
            clock=self.clock,
        )
        return ports, timers

    def _workers(self) -> Workers:
        offers = Offers(Toolsets(self.settings.tool_servers, self.settings.manifest_refetch_s))
        idle: LifoQueue[Environment] = LifoQueue()
        for _ in range(self.settings.worker_threads):
            idle.put(Environment(self.ports, self.settings, offers))
        input_queue = MemoryInputQueue(self.inputs, self.dead_letters)
        return Workers(
            idle, _InTurn(), input_queue, self.clock, self.settings.visibility_s, self.settings.mark_from_receive
        )


class _InTurn(Executor):
    """Runs what it is given at once, in the caller's thread: here it is deliveries that run side by side."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        future.set_result(fn(*args, **kwargs))
        return future
