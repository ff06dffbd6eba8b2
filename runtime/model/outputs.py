"""What front ends are told. At least once: a reader drops an `output_id` it knows."""

from dataclasses import dataclass
from typing import Literal

from runtime.model.entries import JsonObject

OutputType = Literal[
    "text",
    "tool_call",
    "tool_result",
    "thread_spawned",
    "thread_closed",
    "report",
    "oauth_required",
    "user_choice_required",
    "user_choice_complete",
    "view_update",
    "compacted",
    "turn_done",
    "error",
]
OUTPUTS_PER_ENTRY = 16


@dataclass(frozen=True, slots=True)
class Output:
    """`seq` orders outputs of one thread; None where no entry stands behind it. `fields` depend on the type."""

    output_id: str
    type: OutputType
    thread_id: str
    root_id: str
    seq: int | None
    metadata: JsonObject | None
    fields: JsonObject
