"""What the outside is to be told of a commit. Pure: from committed rows alone, so that anyone can tell it again.

Every effect carries a name that is the same each time it is derived; telling it twice is harmless.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from runtime.context import display_text
from runtime.identity import digest, entry_output_id, message_output_id, wake_message_id
from runtime.interpret import FILTERED
from runtime.items import shown_text
from runtime.model.calls import LIVE_STATES, Call
from runtime.model.entries import AssistantText, CancelledCall, Entry, Event, Finish, JsonObject, ToolCall, ToolResult
from runtime.model.messages import Message, MessageKey, WakeContent
from runtime.model.outputs import OUTPUTS_PER_ENTRY, Output, OutputType
from runtime.model.threads import Thread, ThreadRow
from runtime.ports import Timer

# An output has to fit one message of 1 MiB in ASCII JSON, where a character takes up to 12 bytes: a long answer goes
# out in parts, and of a result a person is shown the beginning.
_TEXT_CHARS = 80_000
_DISPLAY_CHARS = 20_000
_ARGUMENTS_CHARS = 200_000
# Places of an entry's outputs within its sixteen; parts of a text have those before.
_ERROR, _TURN_DONE = OUTPUTS_PER_ENTRY - 2, OUTPUTS_PER_ENTRY - 1

_HANDED_OVER_STATES = LIVE_STATES - {"subscribed"}


@dataclass(frozen=True, slots=True)
class Outputs:
    """Outputs of one entry, or of a giving up, in their order. Position 0 stands for none."""

    position: int
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class HandOver:
    """Give this call to its tool server."""

    position: int
    call: Call


@dataclass(frozen=True, slots=True)
class StartTimer:
    position: int
    timer: Timer


@dataclass(frozen=True, slots=True)
class TellCancelled:
    """Let the call's server know, best effort."""

    position: int
    cancelled: CancelledCall


@dataclass(frozen=True, slots=True)
class SendUndelivered:
    """Stands for a hand-over that is given up: the thread is told by a message."""

    position: int
    call: Call
    reason: str


Effect = Outputs | HandOver | SendUndelivered | StartTimer | TellCancelled


def effects_after(thread: Thread, performed: int) -> tuple[Effect, ...]:
    """Return the effects of own rows behind `performed`, by position, and those of a giving up that still stands."""
    # Positions are dense, so the older entries need not be looked at.
    known = max(0, performed - thread.entries[0].position + 1) if thread.entries else 0
    of_entries = [effect for entry in thread.entries[known:] for effect in _effects_of(thread, entry)]
    return (*of_entries, *_effects_of_giving_up(thread.row))


def _effects_of(thread: Thread, entry: Entry) -> Iterator[Effect]:
    outputs = tuple(_outputs_of(thread.row, entry))
    if outputs:
        yield Outputs(entry.position, outputs)
    body = entry.body
    if isinstance(body, ToolCall):
        call = thread.calls.get(body.call_id)
        # An answered call is not handed over again, for the sake of servers that ignore the idempotency key.
        if call is not None and call.target.toolset is not None and call.state in _HANDED_OVER_STATES:
            yield HandOver(entry.position, call)
    if isinstance(body, ToolResult) and body.cancelled is not None:
        yield TellCancelled(entry.position, body.cancelled)


def _outputs_of(row: ThreadRow, entry: Entry) -> Iterator[Output]:
    body = entry.body
    match body:
        case AssistantText():
            for index in range(0, len(body.text), _TEXT_CHARS):
                text = body.text[index : index + _TEXT_CHARS]
                yield _output(row, entry, "text", {"text": text}, min(index // _TEXT_CHARS, _ERROR - 1))
            if body.finish is not None:
                yield from _outputs_of_finish(row, entry, body.finish)
        case ToolCall():
            yield _output(row, entry, "tool_call", {"name": body.name, "arguments": _shown(body.arguments)}, 0)
        case ToolResult() | Event():
            yield _output(row, entry, "tool_result", {"display": shown_text(display_text(body), _DISPLAY_CHARS)}, 0)
        case _:
            return


def _shown(arguments: JsonObject) -> JsonObject:
    size_chars = len(json.dumps(arguments))
    return arguments if size_chars <= _ARGUMENTS_CHARS else {"not_shown": f"{size_chars} characters of arguments"}


def _outputs_of_finish(row: ThreadRow, entry: Entry, finish: Finish) -> Iterator[Output]:
    if finish.stop in FILTERED:
        message = "The model provider's filter ended this answer."
        yield _output(row, entry, "error", {"code": finish.stop, "message": message, "retrying": False}, _ERROR)
    usage = {
        "input_tokens": finish.usage.input_tokens,
        "output_tokens": finish.usage.output_tokens,
        "cache_read_tokens": finish.usage.cache_read_tokens,
        "cache_write_tokens": finish.usage.cache_write_tokens,
    }
    yield _output(row, entry, "turn_done", {"usage": usage, "stop": finish.stop}, _TURN_DONE)


def _output(row: ThreadRow, entry: Entry, type_: OutputType, fields: JsonObject, index: int) -> Output:
    return Output(
        entry_output_id(row.thread_id, entry.position, type_, index),
        type_,
        row.thread_id,
        row.root_id,
        entry.position * OUTPUTS_PER_ENTRY + index,
        row.person.metadata,
        fields,
    )


def _effects_of_giving_up(row: ThreadRow) -> Iterator[Effect]:
    gave_up = row.gave_up
    if gave_up is None:
        return
    yield Outputs(0, (error_output(row, gave_up.message_id, gave_up.code, gave_up.text),))
    if gave_up.wake_due_ms is not None:
        wake = wake_message(row, gave_up.attempt or 0)
        yield StartTimer(0, Timer(digest(row.thread_id, wake.key.message_id), wake, gave_up.wake_due_ms))


def error_output(row: ThreadRow, message_id: str, code: str, text: str, *, retrying: bool = False) -> Output:
    """Return an error that no entry stands behind; the message it is about is part of its name."""
    stage = "retrying" if retrying else "final"
    return Output(
        message_output_id(row.thread_id, message_id, "error", f"{code}:{stage}"),
        "error",
        row.thread_id,
        row.root_id,
        None,
        row.person.metadata,
        {"code": code, "message": text, "retrying": retrying},
    )


def wake_message(row: ThreadRow, attempt: int = 0) -> Message:
    """Return the wake for this version of the thread."""
    key = MessageKey("wake", wake_message_id(row.thread_id, row.version))
    return Message(row.thread_id, key, WakeContent(attempt), body_hash="")
