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
from dataclasses import dataclass
from queue import LifoQueue
from typing import Any, ParamSpec, TypeVar

from runtime.adapters.clock import SystemClock
from runtime.adapters.memory.choices import MemoryChoices
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
from runtime.errors import HandOverFailed
from runtime.identity import deduplication_id, result_message_id
from runtime.model.entries import JsonObject, Origin, TextItem
from runtime.model.messages import Message, MessageKey, ResultContent
from runtime.model.toolsets import Invocation, ToolServer
from runtime.ports import Clock, History, Key, Model, Ports
from runtime.run import Environment
from runtime.settings import Settings
from runtime.tools.offers import Offers
from runtime.tools.toolsets import Toolsets
from runtime.wire.items import pack_items
from runtime.wire.messages import body_hash
from runtime.wire.text import canonical_json, clean_text

_SERVER = ToolServer("local", "http://local.invalid")
_SLICE_S = 300.0
_LONGEST_WAIT_S = 1.0
_KNOWN_OUTPUTS = 1_000
_INLINE_CHARS = 64 * 1024  # of an answer; a longer one travels by reference

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LocalCall:
    """One call as a tool gets it. `answer` may be called from any thread, at any time later; the first call counts."""

    call_id: str
    arguments: JsonObject
    answer: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LocalTool:
    """A tool that is a function: `start` begins the work and returns at once, the work answers when it is done.

    `input_schema` is a JSON Schema object.
    """

    name: str
    description: str
    input_schema: JsonObject
    start: Callable[[LocalCall], None]


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
        given = message_id or secrets.token_hex(16)
        self._system.inputs.send(
            Sending(self.thread_id, deduplication_id(self.thread_id, "text", given), canonical_json(body))
        )

    def outputs(self, timeout_s: float = 0) -> Iterator[JsonObject]:
        """Yield the agent's outputs, each once, as they come; end when none has come for `timeout_s`."""
        while (output := self._next(timeout_s)) is not None:
            yield output

    def _next(self, timeout_s: float) -> JsonObject | None:
        with self._arrived:
            self._arrived.wait_for(lambda: self._outputs, timeout_s)
            return self._outputs.popleft() if self._outputs else None

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


class LocalSystem:
    """Agents, their model and their tools. `ports` are open to whoever wants to look.

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
        self.settings = given.model_copy(update={"tool_servers": (_SERVER,)} if tools else {})
        self.dead_letters = FifoQueue(self.clock)
        self.inputs = FifoQueue(
            self.clock, visibility_s=self.settings.visibility_s, redrive=Redrive(self.dead_letters, 20)
        )
        self._outputs = FifoQueue(self.clock)
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
        keyring = FixedKeyring(Key("local", secrets.token_bytes(32), 0))
        queues = MemoryQueues(self.inputs, self._outputs, keyring, self.clock)
        timers = MemoryTimers(self.clock, queues)
        ports = Ports(
            history=history,
            receipts=MemoryReceipts(self.clock, self.settings.receipt_life_s),
            choices=MemoryChoices(),
            manifests=MemoryManifests(self.clock, self.settings.manifest_life_s),
            queues=queues,
            timers=timers,
            payloads=MemoryPayloads(),
            model=model,
            servers=MemoryToolServers({_SERVER.name: self._server(tools)}),
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

    def _server(self, tools: Sequence[LocalTool]) -> MemoryServer:
        by_name = {tool.name: tool for tool in tools}
        manifest = {
            "name": _SERVER.name,
            "endpoint": f"{_SERVER.url}/invoke",
            "tools": [
                {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema} for tool in tools
            ],
        }

        def accept(invocation: Invocation) -> None:
            body = invocation.body
            call_id, thread_id = body["id"], body["group_id"]
            answer = _answering(self.ports, thread_id, call_id)
            try:
                by_name[body["operation"]].start(LocalCall(call_id, body["arguments"], answer))
            except Exception as error:
                # Its author's mistake, and the model's to know: the thread must not stop for it.
                raise HandOverFailed(f"the tool could not be started ({type(error).__name__})") from error

        return MemoryServer(json.dumps(manifest), accept)


def _answering(ports: Ports, thread_id: str, call_id: str) -> Callable[[str], None]:
    def answer(text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"a tool answers with text, not with {type(text).__name__}")
        origin = Origin(_SERVER.name, call_id, ports.clock.now_ms())
        content = ResultContent(call_id, (TextItem(clean_text(text)),), origin=origin)
        if len(text) > _INLINE_CHARS:
            payload = ports.payloads.put(thread_id, pack_items(content.items))
            content = ResultContent(call_id, (), payload=payload, origin=origin)
        key = MessageKey("tool_result", result_message_id(call_id))
        ports.queues.send_inputs([Message(thread_id, key, content, body_hash(content))])

    return answer


class _InTurn(Executor):
    """Runs what it is given at once, in the caller's thread: here it is deliveries that run side by side."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        future.set_result(fn(*args, **kwargs))
        return future
