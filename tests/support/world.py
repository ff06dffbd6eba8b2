"""A whole system in memory whose time stands still, driven step by step: real slices under real queue rules."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runtime.adapters.memory.clock import ManualClock
from runtime.adapters.memory.model import Answer, Script, ScriptedModel
from runtime.batch import run_batch
from runtime.errors import RuntimeProblem
from runtime.local import LocalCall, LocalSystem, LocalTool
from runtime.model.entries import Entry
from runtime.model.messages import MessageKey
from runtime.model.threads import Thread, Wanted
from runtime.model.turns import Completion, ModelRequest
from runtime.ports import Ports
from runtime.settings import Settings
from tests.support.values import result_message


@dataclass
class Requests:
    """The model of a world: what it was asked, and what it is told to answer. An error in the script is raised."""

    script: Script | Answer
    seen: list[ModelRequest] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._model = ScriptedModel(self.script)

    def complete(self, request: ModelRequest, timeout_s: float) -> Completion:
        self.seen.append(request)
        return self._model.complete(request, timeout_s)


class World:
    """One thread, named "t". Tools note their calls in `calls` and answer when they are told to."""

    def __init__(
        self,
        script: Iterable[Completion | RuntimeProblem] | Answer = (),
        tools: Sequence[str] = ("run_build",),
        **settings: Any,
    ) -> None:
        self.clock = ManualClock()
        self.model = Requests(script)
        self.calls: list[LocalCall] = []
        self.on_call: Callable[[LocalCall], None] = lambda _: None
        offered = [LocalTool(name, f"The tool {name}.", {"type": "object"}, self._take) for name in tools]
        self.system = LocalSystem(self.model, offered, Settings(worker_threads=1, **settings), clock=self.clock)
        self.agent = self.system.agent("t")

    def _take(self, call: LocalCall) -> None:
        self.calls.append(call)
        self.on_call(call)

    def say(self, text: str, message_id: str | None = None) -> None:
        self.agent.send_text(text, message_id=message_id)

    def settle(self) -> None:
        self.system.settle()

    def step_counting(self) -> tuple[str, ...]:
        """Handle one delivery, and return what was counted."""
        received = self.system.inputs.receive()
        result = run_batch([one.record for one in received], self.system.workers, 300)
        for one in received:
            if one.record.record_id not in result.failed:
                self.system.inputs.delete(one.record.handle)
        return result.counted

    def wait(self, seconds: float) -> None:
        """Let time pass, then handle what is due."""
        self.clock.advance(seconds)
        self.settle()

    def answer(self, call_id: str, text: str) -> None:
        """Let the tool answer this call, as its server would through the receiver."""
        self.ports.queues.send_inputs([replace(result_message(call_id, text), thread_id="t")])

    def put_in(self, **ports: Any) -> None:
        """Let slices work with other implementations of some ports. Tools, and `ports`, keep the ones there were."""
        environment = self.system.workers.idle.get()
        self.system.workers.idle.put(replace(environment, ports=replace(environment.ports, **ports)))

    @property
    def ports(self) -> Ports:
        return self.system.ports

    def thread(self, thread_id: str = "t", keys: Sequence[MessageKey] = ()) -> Thread:
        call_ids = tuple(call.call_id for call in self.calls)
        return self.ports.history.load(thread_id, Wanted(tuple(keys), call_ids, 0))

    @property
    def entries(self) -> tuple[Entry, ...]:
        return self.thread().entries

    @property
    def kinds(self) -> list[str]:
        return [entry.body.kind for entry in self.entries]

    def outputs(self) -> list[tuple[str, Any]]:
        """Return what was said since the last look: type and its main field."""
        return [(output["type"], _main(output)) for output in self.agent.outputs()]


def _main(output: Any) -> Any:
    return output.get("text") or output.get("display") or output.get("name") or output.get("code")
