r"""Scripts: what the model shall answer, written into a user's text as ``[[script: JSON]]``.

The newest plain text of the user decides, or the task that the thread was given since. The JSON is

* a list of steps: the next completion;
* ``{"turns": [steps, steps, …]}``: this and the following completions of the conversation, told apart by how many
  turns the assistant has had since the text, so a retried request is answered alike; beside it ``"events": [steps, …]``
  are those of each thread that is made for one event;
* ``{"first": N, "steps": […], "then": […]}``: the first N requests that carry this very text get ``steps``, later ones
  ``then`` (left out: the ordinary answer). The one thing the endpoint remembers; give the text something unique;
* ``{"from": T, "until": T, "steps": […]}``: requests between these times of the endpoint's clock, in seconds since
  1970, get ``steps``, all others the ordinary answer: a model that is away for a while.

When no turn of a script is left, the ordinary rules answer. A script that cannot be read is a ValidationException.

A text may hold another script within its own, in the task of a thread that it starts. What only the conversation tells
is left open: ``<self>`` (the thread's id), ``<stack>`` (those from the root down to it), ``<child 2>`` (the second
thread it started), ``<call watch>`` (the newest call of that tool), ``<news>`` (the text of what arrived last).

============================================================ =======================================================
step                                                         what it does
============================================================ =======================================================
``{"say": "text"}``, ``{"say": ["chunk", "chunk"]}``         a text block, in chunks
``{"call": "name", "input": {…}, "id": "…"}``                a tool use; its id is made up unless given (ids that
                                                             repeat, as some models do)
``{"call": "name", "fragments": ["{\"city\":", " 1}"]}``     its input in these pieces of JSON text; ``[]`` is no delta
``{"call": "name", "fragments": ["{\"ci"], "cut": true}``    its block never ends
``{"reason": "text"}``, ``{"reason": […], "shown": false}``  signed reasoning; not shown: empty text, only a signature
``{"redacted": "text"}``                                     redacted reasoning
``{"stop": "max_tokens"}``                                   the stop reason, any word
``{"usage": {"inputTokens": 9}}``                            usage numbers over the estimate
``{"wait": 2.5}``                                            silence, in seconds; first in the list: before the headers
``{"break": "throttlingException", "message": "…"}``         an exception within the stream; unknown names travel as an
                                                             unnamed error
``{"refuse": "ThrottlingException", "message", "status"}``   an HTTP error instead of a stream
``{"end": "missing" | "bare" | "lost" | "garbled"}``        no end marker; no metadata; connection lost; bad checksum
``{"event": "name", "payload": {…}}``                        any event, as it is
============================================================ =======================================================
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from scripts.offline_stack.model_endpoint.document import JsonObject, JsonValue, as_array, as_number, as_object, as_text
from scripts.offline_stack.model_endpoint.service_model import exception_status
from scripts.offline_stack.model_endpoint.standpoint import OPENING
from scripts.offline_stack.model_endpoint.steps import (
    Break,
    Call,
    End,
    Raw,
    Reason,
    ReasonUnseen,
    Refuse,
    Report,
    Say,
    Step,
    Stop,
    Wait,
)

_CLOSING = "]]"
_DEFAULT_STATUS = 500


class UnreadableScript(Exception):
    """The directive is no JSON, or no script."""


@dataclass(frozen=True, slots=True)
class Script:
    """Turns to play in order. With ``first`` above zero the only turn is for that many requests, then ``then``.

    With ``times`` it is the only turn for every request from the first to before the second of them. ``events`` are the
    turns of a thread that is there for one event.
    """

    turns: tuple[tuple[Step, ...], ...]
    first: int = 0
    then: tuple[Step, ...] | None = None
    times: tuple[float, float] | None = None
    events: tuple[tuple[Step, ...], ...] = ()


def script_in(text: str) -> Script | None:
    """Return the last script of a text, nothing if it holds none. A script within a script is part of it.

    Raises:
        UnreadableScript: there is an opening but no script behind it.
    """
    content: JsonValue = None
    start = text.find(OPENING)
    if start < 0:
        return None
    while start >= 0:
        content, end = _content_at(text, start + len(OPENING))
        start = text.find(OPENING, end)
    return _script(content)


def _content_at(text: str, start: int) -> tuple[JsonValue, int]:
    """Return the JSON that begins there, and where the script of it ends."""
    start += len(text[start:]) - len(text[start:].lstrip())
    try:
        content, end = json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise UnreadableScript(f"not JSON: {error}") from error
    if not text[end:].lstrip().startswith(_CLOSING):
        raise UnreadableScript(f"the JSON is not followed by {_CLOSING}")
    return content, end


def without_scripts(text: str) -> str:
    """Return the text in front of its first script."""
    return text.partition(OPENING)[0].strip()


def _script(content: JsonValue) -> Script:
    if isinstance(content, list):
        return Script((_steps(content),))
    directive = as_object(content)
    if "turns" in directive:
        return Script(_turns(directive["turns"]), events=_turns(directive.get("events")))
    if "first" in directive:
        then = _steps(as_array(directive["then"])) if "then" in directive else None
        return Script((_steps(as_array(directive.get("steps"))),), int(as_number(directive["first"]) or 0), then)
    if "from" in directive and "until" in directive:
        times = as_number(directive["from"]) or 0, as_number(directive["until"]) or 0
        return Script((_steps(as_array(directive.get("steps"))),), times=times)
    raise UnreadableScript("neither a list of steps nor an object with turns, first, or from and until")


def _turns(turns: JsonValue) -> tuple[tuple[Step, ...], ...]:
    return tuple(_steps(as_array(turn)) for turn in as_array(turns))


def _steps(steps: Sequence[JsonValue]) -> tuple[Step, ...]:
    return tuple(_step(as_object(step)) for step in steps)


def _step(step: JsonObject) -> Step:
    for key, read in _READERS.items():
        if key in step:
            return read(step)
    raise UnreadableScript(f"no such step: {json.dumps(step)}")


def _call(step: JsonObject) -> Step:
    fragments = _chunks(step["fragments"]) if "fragments" in step else (json.dumps(as_object(step.get("input"))),)
    return Call(as_text(step["call"]), fragments, as_text(step.get("id")) or None, step.get("cut") is True)


def _break(step: JsonObject) -> Step:
    exception = as_text(step["break"])
    return Break(exception, as_text(step.get("message")) or f"A scripted {exception}.")


def _refuse(step: JsonObject) -> Step:
    exception = as_text(step["refuse"])
    status = as_number(step.get("status")) or exception_status().get(exception, _DEFAULT_STATUS)
    return Refuse(exception, as_text(step.get("message")) or f"A scripted {exception}.", int(status))


def _end(step: JsonObject) -> Step:
    ends: tuple[Literal["missing", "lost", "bare", "garbled"], ...] = ("missing", "lost", "bare", "garbled")
    for how in ends:
        if step["end"] == how:
            return End(how)
    raise UnreadableScript(f"no such end: {json.dumps(step)}")


def _chunks(value: JsonValue) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(as_text(chunk) for chunk in as_array(value))


_READERS: Mapping[str, Callable[[JsonObject], Step]] = {
    "say": lambda step: Say(_chunks(step["say"])),
    "call": _call,
    "reason": lambda step: Reason(_chunks(step["reason"]), step.get("shown") is not False),
    "redacted": lambda step: ReasonUnseen(as_text(step["redacted"])),
    "stop": lambda step: Stop(as_text(step["stop"])),
    "usage": lambda step: Report(as_object(step["usage"])),
    "wait": lambda step: Wait(as_number(step["wait"]) or 0),
    "break": _break,
    "refuse": _refuse,
    "end": _end,
    "event": lambda step: Raw(as_text(step["event"]), as_object(step.get("payload"))),
}
