"""Where a history may be cut, so that a summary stands for what is before. Pure.

Only behind something that was answered: the end of a turn, or a result that the model has gone on from. What still
asks would otherwise be swallowed by the summary, and nobody would answer it; and a call is never parted from its
result.
"""

import json
from collections.abc import Iterator
from itertools import accumulate

from runtime.model.entries import AssistantText, Entry, Event, Reasoning, ToolCall, ToolResult, UserText
from runtime.shrinking import CHARS_PER_TOKEN, tokens_of_item

_USER_TURNS_KEPT = 2
_STEPS_KEPT = 2
# What is kept word for word may be this share of what is visible; otherwise less is kept, so that the summary helps.
_KEPT_SHARE = 0.5


def cut_off(entries: tuple[Entry, ...]) -> int | None:
    """Return the position up to which these entries may be summarised, or None if nothing in them may be.

    Two user turns back where that leaves out enough, else as far back as does; in a long row of calls without a turn's
    end, some steps back.
    """
    ends = [index for index in range(len(entries)) if _is_answered(entries, index)]
    if not ends:
        return None
    sizes = list(accumulate(map(_size, entries)))
    least = sizes[-1] * (1 - _KEPT_SHARE)
    best = next((end for end in sorted(_preferred(entries, ends)) if sizes[end] >= least), ends[-1])
    return entries[best].position


def _is_answered(entries: tuple[Entry, ...], index: int) -> bool:
    body = entries[index].body
    if isinstance(body, ToolResult):
        return index + 1 < len(entries) and not entries[index + 1].asks
    return isinstance(body, AssistantText) and body.finish is not None


def _preferred(entries: tuple[Entry, ...], ends: list[int]) -> Iterator[int]:
    """Yield the last ends that keep some user turns, and some answered steps."""
    users = [index for index, entry in enumerate(entries) if isinstance(entry.body, UserText)]
    for user in users[-_USER_TURNS_KEPT:]:
        yield from [end for end in ends if end < user][-1:]
    yield from ends[-1 - _STEPS_KEPT : -1]


def _size(entry: Entry) -> int:
    """Return about how many tokens the model reads for this entry."""
    match entry.body:
        case UserText(text=text) | AssistantText(text=text):
            chars = len(text)
        case Reasoning(text=shown, redacted=redacted):
            chars = len(shown or redacted or "")
        case ToolCall(arguments=arguments):
            chars = len(json.dumps(arguments))
        case ToolResult(items=items) | Event(items=items):
            return 1 + sum(map(tokens_of_item, items))
    return 1 + chars // CHARS_PER_TOKEN
