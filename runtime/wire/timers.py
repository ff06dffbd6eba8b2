"""The body of a message on the timer queue."""

from pydantic import Field, ValidationError

from runtime.errors import InvalidMessage
from runtime.timers import TravellingTimer
from runtime.wire.faults import Wire, field_fault
from runtime.wire.text import canonical_json


class _Timer(Wire):
    due_ms: int
    body: str = Field(min_length=1)
    group_id: str = Field(min_length=1)
    deduplication_id: str = Field(min_length=1)


def timer_body(timer: TravellingTimer) -> str:
    """Return compact ASCII JSON; the message inside is a string, so that its authentication stays untouched."""
    return canonical_json(
        {
            "due_ms": timer.due_ms,
            "body": timer.body,
            "group_id": timer.group_id,
            "deduplication_id": timer.deduplication_id,
        }
    )


def read_timer(body: str) -> TravellingTimer:
    """Return the timer.

    Raises:
        InvalidMessage: the body is none; the reason names the field, never the value.
    """
    try:
        read = _Timer.model_validate_json(body)
    except ValidationError as error:
        raise InvalidMessage(field_fault(error)) from error
    return TravellingTimer(read.due_ms, read.body, read.group_id, read.deduplication_id)
