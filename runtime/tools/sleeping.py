"""Waiting on purpose: `sleep_until_event_or_input`."""

from runtime.model.calls import CallTarget
from runtime.model.turns import ToolSpec
from runtime.tools.offer import Builtin

SLEEP_UNTIL_EVENT_OR_INPUT = Builtin(
    ToolSpec(
        "sleep_until_event_or_input",
        "Wait until somebody writes or something arrives. Costs nothing, however long it takes.",
        {"type": "object", "properties": {}},
    ),
    # Handed over to nobody; whatever appends an entry answers it.
    target=CallTarget(toolset=None, endpoint=None, on_interrupt="end"),
)
