"""The tools a completion is offered, and what becomes of a call of each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from runtime.draft import Draft
from runtime.limits import Limits
from runtime.model.calls import CallTarget
from runtime.model.entries import CancelledCall, Deed, JsonObject, ToolCall
from runtime.model.toolsets import Toolset
from runtime.model.turns import ToolSpec
from runtime.tools.schemas import ArgumentChecker


@dataclass(frozen=True, slots=True)
class Asked:
    """A call of a synchronous tool. It stands at the draft's tail; `arguments` fit the tool's schema."""

    draft: Draft
    call: ToolCall
    now_ms: int
    limits: Limits

    @property
    def arguments(self) -> JsonObject:
        return self.call.arguments


@dataclass(frozen=True, slots=True)
class Answer:
    """What a synchronous tool answers, the draft with what it changed, and what is to be done when that is stored."""

    draft: Draft
    text: str
    deed: Deed | None = None
    cancelled: CancelledCall | None = None

    @property
    def is_error(self) -> bool:
        return self.text.startswith("Error: ")


SynchronousTool = Callable[[Asked], Answer]
# From the arguments and the commit time of a call, in ms: when the wait for it is over, or why there can be none.
DueTime = Callable[[JsonObject, int], int | str]


@dataclass(frozen=True, slots=True)
class Builtin:
    """A tool of the runtime's own: it answers at once (`run`), or the thread waits (`target`), perhaps not for ever."""

    spec: ToolSpec
    run: SynchronousTool | None = None
    target: CallTarget | None = None
    due: DueTime | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """Everything offered, in the order it is offered: the same bytes for every thread of a root."""

    specs: tuple[ToolSpec, ...]
    targets: Mapping[str, CallTarget]
    due_times: Mapping[str, DueTime]
    synchronous: Mapping[str, SynchronousTool]
    checkers: Mapping[str, ArgumentChecker]


def offer_of(toolsets: Sequence[Toolset], builtins: Sequence[Builtin]) -> Offer:
    """Return the offer: configured servers in their order, each manifest in its own, built-in tools last."""
    specs: list[ToolSpec] = []
    targets: dict[str, CallTarget] = {}
    due_times = {builtin.spec.name: builtin.due for builtin in builtins if builtin.due}
    for toolset in toolsets:
        for tool in toolset.tools:
            specs.append(tool.spec)
            targets[tool.spec.name] = CallTarget(toolset.name, toolset.endpoint, tool.on_interrupt)
            if toolset.result_timeout_s is not None:
                due_times[tool.spec.name] = _after(toolset.result_timeout_s)
    for builtin in builtins:
        specs.append(builtin.spec)
        if builtin.target:
            targets[builtin.spec.name] = builtin.target
    synchronous = {builtin.spec.name: builtin.run for builtin in builtins if builtin.run}
    checkers = {spec.name: ArgumentChecker(spec.input_schema) for spec in specs}
    return Offer(tuple(specs), targets, due_times, synchronous, checkers)


def _after(seconds: int) -> DueTime:
    return lambda _arguments, now_ms: now_ms + seconds * 1000
