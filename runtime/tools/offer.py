"""The tools a completion is offered, and what becomes of a call of each."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from referencing.exceptions import Unresolvable

from runtime.draft import Draft
from runtime.model.calls import Call, CallTarget
from runtime.model.entries import CancelledCall, JsonObject
from runtime.model.toolsets import Toolset
from runtime.model.turns import ToolSpec

# Names of tools that the runtime keeps for itself, whether this version offers them or not.
RESERVED_NAMES = frozenset(
    {
        "spawn_thread",
        "report_to_parent",
        "close_thread",
        "send_message_to_child",
        "cancel_subscription",
        "cancel_tool_call",
        "list_activity",
        "sleep",
        "sleep_until",
        "sleep_until_event_or_input",
        "receive_event__injected",
    }
)


# A schema is somebody else's: deep references, patterns that are none, numbers too large for its arithmetic.
_CANNOT_BE_APPLIED = (RecursionError, Unresolvable, ArithmeticError, re.error, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a synchronous tool answers, and the calls it changed."""

    text: str
    changed: tuple[Call, ...] = ()
    cancelled: CancelledCall | None = None

    @property
    def is_error(self) -> bool:
        return self.text.startswith("Error: ")


SynchronousTool = Callable[[Draft, JsonObject], Answer]


@dataclass(frozen=True, slots=True)
class Builtin:
    """A tool of the runtime's own: it answers at once (`run`), or the thread waits (`target`)."""

    spec: ToolSpec
    run: SynchronousTool | None = None
    target: CallTarget | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """Everything offered, in the order it is offered: the same bytes for every thread of a root."""

    specs: tuple[ToolSpec, ...]
    targets: Mapping[str, CallTarget]
    synchronous: Mapping[str, SynchronousTool]
    validators: Mapping[str, Validator]

    def complaint(self, name: str, arguments: JsonObject) -> str | None:
        """Return what is wrong with these arguments by the tool's schema, or None."""
        try:
            error = best_match(self.validators[name].iter_errors(dict(arguments)))
        except _CANNOT_BE_APPLIED:
            return "they cannot be checked against the tool's schema; make them simpler"
        return None if error is None else f"{error.json_path}: {error.message}"[:500]


def offer_of(toolsets: Sequence[Toolset], builtins: Sequence[Builtin]) -> Offer:
    """Return the offer: configured servers in their order, each manifest in its own, built-in tools last."""
    specs: list[ToolSpec] = []
    targets: dict[str, CallTarget] = {}
    for toolset in toolsets:
        for tool in toolset.tools:
            specs.append(tool.spec)
            targets[tool.spec.name] = CallTarget(toolset.name, toolset.endpoint, tool.on_interrupt)
    for builtin in builtins:
        specs.append(builtin.spec)
        if builtin.target:
            targets[builtin.spec.name] = builtin.target
    synchronous = {builtin.spec.name: builtin.run for builtin in builtins if builtin.run}
    validators: dict[str, Validator] = {spec.name: Draft202012Validator(spec.input_schema) for spec in specs}
    return Offer(tuple(specs), targets, synchronous, validators)
