"""What front ends are told of committed entries. Pure: whoever tells it again tells the same, under the same names."""

import json
from collections.abc import Iterator

from runtime.identity import entry_output_id, message_output_id, seed_id_at
from runtime.items import plain_text, shown_text
from runtime.model.choices import Choice
from runtime.model.entries import (
    AssistantText,
    Closed,
    Deed,
    Entry,
    Event,
    Finish,
    JsonObject,
    Reported,
    Spawned,
    ToolCall,
    ToolResult,
)
from runtime.model.outputs import OUTPUTS_PER_ENTRY, Output, OutputType
from runtime.model.threads import ThreadRow
from runtime.model.turns import FILTERED

# An output has to fit one message of 1 MiB in ASCII JSON, where a character takes up to 12 bytes: a long answer goes
# out in parts, and of a result a person is shown the beginning.
_TEXT_CHARS = 80_000
_DISPLAY_CHARS = 20_000
_ARGUMENTS_CHARS = 200_000
# Places of an entry's outputs within its sixteen; parts of a text have those before.
_ERROR, _TURN_DONE = OUTPUTS_PER_ENTRY - 2, OUTPUTS_PER_ENTRY - 1
_REPORT, _CLOSED = OUTPUTS_PER_ENTRY - 4, OUTPUTS_PER_ENTRY - 3


def outputs_of(row: ThreadRow, entry: Entry) -> Iterator[Output]:
    """Yield what this entry of the row's thread gives rise to, in order. What a compaction writes is nobody's."""
    body = entry.body
    if row.birth.kind == "compaction":
        return
    match body:
        case AssistantText():
            yield from _outputs_of_text(row, entry, body)
        case ToolCall(call_id=call_id) if call_id == seed_id_at(row.thread_id, entry.position):
            fields = {"child_thread_id": row.thread_id, "task": row.birth.task}
            yield _output(row, entry, "thread_spawned", fields, 1)
        case ToolCall():
            yield _output(row, entry, "tool_call", {"name": body.name, "arguments": _shown(body.arguments)}, 0)
        case ToolResult() | Event():
            yield _output(row, entry, "tool_result", {"display": shown_text(display_text(body), _DISPLAY_CHARS)}, 0)
            yield from _outputs_of_deed(row, entry, body.deed if isinstance(body, ToolResult) else None)
        case _:
            return


def _outputs_of_text(row: ThreadRow, entry: Entry, body: AssistantText) -> Iterator[Output]:
    for index in range(0, len(body.text), _TEXT_CHARS):
        text = body.text[index : index + _TEXT_CHARS]
        yield _output(row, entry, "text", {"text": text}, min(index // _TEXT_CHARS, _REPORT - 1))
    if body.reports:
        yield _report(row, entry, body.report or body.text)
    if body.closes:
        yield _closed(row, entry)
    if body.finish is not None:
        yield from _outputs_of_finish(row, entry, body.finish)


def _outputs_of_deed(row: ThreadRow, entry: Entry, deed: Deed | None) -> Iterator[Output]:
    match deed:
        case Spawned(child_id=child_id, instructions=instructions):
            task = shown_text(instructions, _DISPLAY_CHARS)
            yield _output(row, entry, "thread_spawned", {"child_thread_id": child_id, "task": task}, 1)
        case Reported(report=report):
            yield _report(row, entry, report)
        case Closed(last_report=report):
            if report:
                yield _report(row, entry, report)
            yield _closed(row, entry)
        case _:
            return


def _report(row: ThreadRow, entry: Entry, text: str) -> Output:
    fields = {"parent_thread_id": row.birth.parent_id, "text": shown_text(text, _TEXT_CHARS)}
    return _output(row, entry, "report", fields, _REPORT)


def _closed(row: ThreadRow, entry: Entry) -> Output:
    return _output(row, entry, "thread_closed", {}, _CLOSED)


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


def output_of_message(row: ThreadRow, message_id: str, type_: OutputType, fields: JsonObject, code: str = "") -> Output:
    """Return an output that no entry stands behind; the message it is about is part of its name."""
    output_id = message_output_id(row.thread_id, message_id, type_, code)
    return Output(output_id, type_, row.thread_id, row.root_id, None, row.person.metadata, fields)


def choice_output(row: ThreadRow, message_id: str, choice: Choice) -> Output:
    """Return what shows a choice to its user."""
    fields = {
        "choice_id": choice.choice_id,
        "prompt": choice.prompt,
        "choices": list(choice.choices),
        "default": choice.default,
    }
    return output_of_message(row, message_id, "user_choice_required", fields)


def error_output(row: ThreadRow, message_id: str, code: str, text: str, *, retrying: bool = False) -> Output:
    """Return an error that no entry stands behind."""
    stage = "retrying" if retrying else "final"
    fields = {"code": code, "message": text, "retrying": retrying}
    return output_of_message(row, message_id, "error", fields, f"{code}:{stage}")


def display_text(body: ToolResult | Event) -> str:
    """Return what a person is shown of a result: what the tool chose to display, else its texts."""
    return body.display_as if body.display_as is not None else plain_text(body.items)
