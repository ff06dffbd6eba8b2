"""Workload W: agents x turns. A turn is a message in, a completion with 1,200 bytes of text and one tool call, nothing
running while the tool works, its result of 200 bytes delivered from outside, and a completion of 1,200 bytes.

The model is scripted and instant, so that what is measured is the runtime. About half of the text's bytes compress
away, as with real prose.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from runtime.local import Agent, LocalCall, LocalSystem, LocalTool
from runtime.model.entries import Usage
from runtime.model.turns import Completion, ModelRequest, Part, ResultBlock, SaidText, WantedCall
from runtime.ports import History
from runtime.settings import Settings

COMPLETION_BYTES = 1_200
RESULT_BYTES = 200
COMPLETIONS_PER_TURN = 2
_USAGE = Usage(input_tokens=1_000, output_tokens=300)
_WORDS = [
    "agent",
    "ledger",
    "order",
    "carrier",
    "weight",
    "quote",
    "invoice",
    "window",
    "policy",
    "discount",
    "warehouse",
    "gate",
    "delay",
    "inventory",
    "payment",
    "customer",
    "delivery",
    "status",
    "reads",
    "compares",
    "asks",
    "checks",
    "confirms",
    "because",
    "while",
    "before",
    "after",
    "next",
    "step",
    "again",
]


def prose(size_bytes: int, seed: int) -> str:
    """Return text of this size: words, and now and then an identifier, the same for the same seed."""
    chosen = random.Random(seed)  # noqa: S311 - text, not a secret
    parts: list[str] = []
    length = 0
    while length < size_bytes:
        is_word = chosen.random() < 0.7
        part = chosen.choice(_WORDS) if is_word else f"{chosen.getrandbits(32):x}"
        parts.append(part)
        length += len(part) + 1
    return " ".join(parts)[:size_bytes]


_TEXTS = [prose(COMPLETION_BYTES, seed) for seed in range(512)]
_RESULTS = [prose(RESULT_BYTES, seed) for seed in range(1_000, 1_128)]


@dataclass(frozen=True, slots=True)
class Workload:
    agents: int
    turns: int

    @property
    def completions(self) -> int:
        return self.agents * self.turns * COMPLETIONS_PER_TURN


class Bench:
    """A local system with its agents, and one turn of all of them at a time."""

    def __init__(self, workload: Workload, history: History | None = None) -> None:
        tool = LocalTool("lookup", "Look an order up.", {"type": "object"}, lambda call: self._waiting.append(call))
        self._waiting: list[LocalCall] = []
        settings = Settings(worker_threads=1)
        self.system = LocalSystem(ScriptedTurns(), [tool], settings, history=history)
        self.agents = [self.system.agent(f"agent-{number}") for number in range(workload.agents)]

    def turn(self, number: int, when_idle: Callable[[], None] = lambda: None) -> None:
        """Run one turn of every agent; `when_idle` is called while all of them wait for their tools."""
        for agent in self.agents:
            agent.send_text(f"turn {number}: look into the order of {agent.thread_id} and tell me what to do next")
        self.system.settle()
        when_idle()
        for index, call in enumerate(self._waiting):
            call.answer(_RESULTS[(index * 13 + number) % len(_RESULTS)])
        self._waiting.clear()
        self.system.settle()
        for agent in self.agents:
            _require_answered(agent)


def _require_answered(agent: Agent) -> None:
    types = [output["type"] for output in agent.outputs()]
    if types != ["text", "tool_call", "tool_result", "text", "turn_done"]:
        raise SystemExit(f"{agent.thread_id} did not do its turn but sent {types}; the figures would mean nothing.")


class ScriptedTurns:
    """The instant model: it calls the tool when asked, and ends the turn when the tool has answered."""

    def complete(self, request: ModelRequest, timeout_s: float) -> Completion:  # noqa: ARG002 - it takes no time
        number = len(request.messages)
        text = SaidText(_TEXTS[number * 7 % len(_TEXTS)])
        if isinstance(request.messages[-1].blocks[0], ResultBlock):
            return Completion((text,), "end_turn", _USAGE)
        call: Part = WantedCall(f"call-{number}", "lookup", '{"order": "next"}')
        return Completion((text, call), "tool_use", _USAGE)
