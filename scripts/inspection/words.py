"""Times, tokens and states in words, the same on a terminal and on a page. Pure."""

from datetime import UTC, datetime

from runtime.model.entries import Usage
from scripts.inspection.states import State

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def moment(at_ms: int) -> str:
    """A time in UTC, to the second."""
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


def moment_seen(at_ms: int, now_ms: int) -> str:
    """A time in UTC, without its date if that is today's."""
    day, _, time = moment(at_ms).partition(" ")
    return time if moment(now_ms).startswith(day) else f"{day} {time}"


def duration(length_ms: int) -> str:
    """Two units at most: nobody reads more of three days."""
    if length_ms < 10_000:
        return f"{max(0, length_ms) / 1000:.1f} s"
    left, parts = length_ms // 1000, list[str]()
    for unit_s, name in _UNITS:
        if left >= unit_s:
            parts.append(f"{left // unit_s} {name}")
            left %= unit_s
    return " ".join(parts[:2])


def due(due_ms: int, now_ms: int) -> str:
    """When something is due, seen from now."""
    left_ms = due_ms - now_ms
    return f"in {duration(left_ms)}" if left_ms > 0 else f"{duration(-left_ms)} ago"


def tokens(usage: Usage) -> str:
    """What was read, from the cache and into it, and what was written."""
    parts = [
        (usage.input_tokens, "in"),
        (usage.cache_read_tokens, "from cache"),
        (usage.cache_write_tokens, "to cache"),
        (usage.output_tokens, "out"),
    ]
    return " · ".join(f"{count:,} {name}" for count, name in parts if count) or "0 tokens"


def counted(count: int, name: str) -> str:
    """A number of something: one thread, 2 threads."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def state(found: State, now_ms: int) -> str:
    """What a thread waits for, and for how long already."""
    length = "" if found.since_ms is None else f" (for {duration(now_ms - found.since_ms)})"
    return f"{_state(found, now_ms)}{length}"


def _state(found: State, now_ms: int) -> str:
    goes_on = "" if found.due_ms is None else f", due {due(found.due_ms, now_ms)}"
    match found.kind:
        case "closed":
            return "closed" if found.what == "itself" else f"closed together with {found.what}"
        case "gave_up":
            return f"gave up, {found.what}: {'tries again' + goes_on if goes_on else 'waits for a new message'}"
        case "waits_for_tool":
            return f"waits for {found.what}{goes_on}"
        case "sleeps":
            return f"in {found.what}{goes_on or ', until something arrives'}"
        case "asks_model":
            return "asks the model"
        case "waits_for_summary":
            return "waits for its summary"
        case "idle":
            return "idle"


def cut(text: str, limit: int) -> str:
    """The beginning of a text, with a note of what is missing."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} more characters)"
