"""Waiting on purpose: for some seconds, until a time of the clock, or until something arrives.

These calls are handed to nobody. A timer answers the first two, and whatever arrives before it ends them.
"""

import math
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from runtime.model.calls import CallTarget
from runtime.model.entries import JsonObject
from runtime.model.turns import ToolSpec
from runtime.tools.offer import Builtin

LONGEST_S = 365 * 86_400

_NOBODY = CallTarget(toolset=None, endpoint=None, on_interrupt="end")


def _due_after_seconds(arguments: JsonObject, now_ms: int) -> int | str:
    seconds: int = max(0, math.ceil(arguments["seconds"]))
    if seconds > LONGEST_S:
        return f"a sleep lasts at most {LONGEST_S} seconds, which is one year. Sleep that long, and then again."
    return now_ms + seconds * 1000


def _due_at_local_time(arguments: JsonObject, now_ms: int) -> int | str:
    try:
        local = datetime.combine(date.fromisoformat(arguments["date"]), time.fromisoformat(arguments["time"]))
    except ValueError:
        return "this is no date and time of the calendar. Give the date as 2031-12-24 and the time as 18:30."
    if local.tzinfo is not None:
        return "the time has an offset of its own. Give it as 18:30, and name its place in timezone."
    zone = _zone(arguments.get("timezone", "UTC"))
    if zone is None:
        return "this time zone is not known. Name it as in Europe/Berlin, or give the time in UTC."
    try:
        return _due_in_zone(local, zone, now_ms)
    except OverflowError:
        return "this is at the edge of the calendar. Choose another date."


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; no name at all; the name of a folder of zones
        return None


def _due_in_zone(local: datetime, zone: ZoneInfo, now_ms: int) -> int | str:
    """Return when this time of the clock is. Where clocks are changed, some times come twice and some never."""
    first, second = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first < second:
        return (
            f"clocks are put back then, so {local} comes twice in {zone.key}: at {_in_utc(first)} and at "
            f"{_in_utc(second)}. Give one of these, with timezone UTC."
        )
    if first > second:
        return (
            f"clocks are put forward then, so {local} never comes in {zone.key}. "
            f"Give {_in_utc(first)} with timezone UTC, or another time."
        )
    full_second = first.replace(microsecond=0) + timedelta(seconds=1 if first.microsecond else 0)
    due_ms = max(now_ms, int(full_second.timestamp()) * 1000)
    # A timer is signed when it is set: when it goes off, its key must still be known.
    return (
        due_ms
        if due_ms <= now_ms + LONGEST_S * 1000
        else "this is more than a year away. Sleep a year, and then again."
    )


def _in_utc(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


SLEEP = Builtin(
    ToolSpec(
        "sleep",
        "Wait for some time, at most a year. Costs nothing, however long it takes. Whatever arrives meanwhile ends it.",
        {
            "type": "object",
            "properties": {
                "seconds": {"type": "number", "description": "How long. Fractions are rounded up."},
                "reason": {"type": "string", "description": "What for; a note to yourself."},
            },
            "required": ["seconds"],
        },
    ),
    target=_NOBODY,
    due=_due_after_seconds,
)
SLEEP_UNTIL = Builtin(
    ToolSpec(
        "sleep_until",
        "Wait until a time of the clock. Costs nothing, however long it takes. Whatever arrives meanwhile ends it.",
        {
            "type": "object",
            "properties": {
                "date": {"type": "string", "description": "As in 2031-12-24."},
                "time": {"type": "string", "description": "As in 18:30 or 18:30:15."},
                "timezone": {"type": "string", "description": "As in Europe/Berlin. Default UTC."},
            },
            "required": ["date", "time"],
        },
    ),
    target=_NOBODY,
    due=_due_at_local_time,
)
SLEEP_UNTIL_EVENT_OR_INPUT = Builtin(
    ToolSpec(
        "sleep_until_event_or_input",
        "Wait until somebody writes or something arrives. Costs nothing, however long it takes.",
        {"type": "object", "properties": {}},
    ),
    # Whatever appends an entry answers it.
    target=_NOBODY,
)
