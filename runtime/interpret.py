"""What a completion does to history. Pure: after it, the tail says what comes next.

tail assistant → the turn is done · tail tool_call → the thread waits for that tool · tail tool_result → the model is
asked again, within the same slice.
"""

import json
from dataclasses import dataclass, replace

from runtime import compaction, phrases
from runtime.draft import Draft
from runtime.endings import ended_turn, why_waiting_is_vain
from runtime.identity import call_id_at
from runtime.items import ROW_TEXT_BYTES, json_bytes, shown, stored_text
from runtime.limits import Limits
from runtime.model.calls import Call
from runtime.model.entries import AssistantText, Body, Finish, JsonObject, Reasoning, TextItem, ToolCall, ToolResult
from runtime.model.turns import FILTERED, TOOL_NAME, Completion, SaidText, Thought, WantedCall
from runtime.tools.builtin import RESERVED_NAMES
from runtime.tools.offer import Answer, Asked, Offer
from runtime.wire.text import UnreadableJson, read_json

# Less than any edge takes: arguments go out within a few more levels of JSON.
MAX_ARGUMENT_DEPTH = 50
_NAME_FOR_INVALID = "invalid_tool_name"
_SHOWN_OF_WHAT_WAS_WRITTEN = 500
_NOTES = {
    "max_tokens": phrases.CUT_OFF,
    "model_context_window_exceeded": phrases.CUT_OFF,
    "malformed_model_output": phrases.STOPPED_EARLY,
    "malformed_tool_use": phrases.STOPPED_EARLY,
}


@dataclass(frozen=True, slots=True)
class _Turn:
    """The completion, taken apart: what was said and thought before the first call, and the call."""

    said: tuple[SaidText | Thought, ...]
    call: WantedCall | None
    not_run: tuple[str, ...]
    finish: Finish


@dataclass(frozen=True, slots=True)
class Moment:
    """When a completion came, and what limits hold for what it does."""

    now_ms: int
    limits: Limits


def interpret(draft: Draft, completion: Completion, offer: Offer, moment: Moment) -> Draft:
    """Return the draft with this completion's entries behind it, a synchronous call answered within it."""
    # What a filter ended is not tried again, so a call in it is not even refused: the turn is over.
    turn = _taken_apart(completion, without_calls=completion.stop in FILTERED or compaction.takes_no_more_calls(draft))
    at = _Place(moment, draft.head + 1, draft.next_turn)
    for body in _spoken(turn):
        draft = draft.append(body, moment.now_ms, at.turn)
    if turn.call is None:
        return ended_turn(draft, moment.now_ms)
    return _called(draft, turn, turn.call, offer, at)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the turn stands: its first position, and its number."""

    moment: Moment
    first: int
    turn: int

    @property
    def now_ms(self) -> int:
        return self.moment.now_ms


def _taken_apart(completion: Completion, *, without_calls: bool) -> _Turn:
    calls = [part for part in completion.parts if isinstance(part, WantedCall) and not without_calls]
    said: list[SaidText | Thought] = []
    for part in completion.parts:
        if isinstance(part, WantedCall):
            break
        if _is_worth_keeping(part):
            said.append(part)
    while not calls and said and isinstance(said[-1], Thought):
        said.pop()  # reasoning in front of nothing is refused when it is sent back
    return _Turn(
        tuple(said),
        calls[0] if calls else None,
        tuple(call.name[:64] for call in calls[1:]),
        Finish(completion.stop, completion.usage),
    )


def _is_worth_keeping(part: SaidText | Thought) -> bool:
    """Providers refuse blank text and unsigned reasoning when they get it back, and would do so for ever.

    A store refuses what is too large for a row, and would do so, too.
    """
    if isinstance(part, SaidText):
        return bool(part.text.strip())
    # What is signed may not be cut.
    return bool(part.signature or part.redacted) and json_bytes([part.text, part.redacted]) <= ROW_TEXT_BYTES


def _spoken(turn: _Turn) -> list[Body]:
    """Return the entries of what was said; without a call, the last of them carries how the turn ended."""
    bodies: list[Body] = [
        AssistantText(stored_text(part.text))
        if isinstance(part, SaidText)
        else Reasoning(part.text, part.signature, part.redacted)
        for part in turn.said
    ]
    if turn.call is not None:
        return bodies
    note = _NOTES.get(turn.finish.stop)
    if note:
        bodies.append(AssistantText(note))
    if not bodies:
        bodies.append(AssistantText(phrases.WITHHELD_OUTPUT if turn.finish.stop in FILTERED else ""))
    last = bodies[-1]
    assert isinstance(last, AssistantText)
    return [*bodies[:-1], replace(last, finish=turn.finish)]


def _called(draft: Draft, turn: _Turn, wanted: WantedCall, offer: Offer, at: _Place) -> Draft:
    """Append the call, and its result where there is one at once; otherwise the thread waits."""
    call_id = call_id_at(draft.thread_id, draft.head + 1)
    arguments = _parsed(wanted.arguments_json, at.moment.limits.message_bytes)
    name = wanted.name if TOOL_NAME.fullmatch(wanted.name) else _NAME_FOR_INVALID
    taken = {} if isinstance(arguments, str) else arguments
    stored = ToolCall(call_id, name, taken, wanted.provider_call_id, turn.not_run, turn.finish)
    draft = draft.append(stored, at.now_ms, at.turn)
    problem = phrases.TEXT_ONLY if compaction.is_compaction(draft) else None
    problem = problem or _problem(wanted, arguments, turn.finish.stop, offer)
    if problem is not None:
        return _answered(call_id, Answer(draft, problem), at)
    if name in offer.synchronous:
        asked = Asked(draft, stored, at.now_ms, at.moment.limits)
        return _answered(call_id, offer.synchronous[name](asked), at)
    return _awaited(draft, stored, offer, at)


def _awaited(draft: Draft, call: ToolCall, offer: Offer, at: _Place) -> Draft:
    """Let the thread wait for the call at the draft's tail, unless that would be in vain: then it reads why."""
    target = offer.targets[call.name]
    due_ms = offer.due_times[call.name](call.arguments, at.now_ms) if call.name in offer.due_times else None
    if isinstance(due_ms, str):
        return _answered(call.call_id, Answer(draft, f"Error: {due_ms}"), at)
    if target.toolset is None and due_ms is None and (vain := why_waiting_is_vain(draft)):
        return _answered(call.call_id, Answer(draft, vain), at)
    pending = Call(
        call.call_id,
        call.name,
        call.arguments,
        "pending",
        target,
        draft.head,
        at.now_ms,
        call.provider_call_id,
        due_ms=due_ms,
        turn_start=at.first,
        user_id=draft.row.person.user_id,
    )
    return draft.with_call(pending)


def _answered(call_id: str, answer: Answer, at: _Place) -> Draft:
    """Append the result in the same turn: a synchronous call and its result are in one commit."""
    result = ToolResult(
        call_id,
        (TextItem(shown(answer.text, at.moment.limits)),),
        status="error" if answer.is_error else "success",
        cancelled=answer.cancelled,
        deed=answer.deed,
    )
    return answer.draft.append(result, at.now_ms, at.turn)


def _parsed(arguments_json: str, limit_bytes: int) -> JsonObject | str:
    """Return the arguments, or why there are none, worded for the model. A tool without any gets no text at all."""
    try:
        parsed = read_json(arguments_json, MAX_ARGUMENT_DEPTH) if arguments_json.strip() else {}
    except UnreadableJson:
        parsed = None
    if not isinstance(parsed, dict):
        return f"Error: the arguments are not a JSON object: {_quoted(arguments_json)}. Issue the call again."
    size_bytes = json_bytes(parsed)
    if size_bytes > limit_bytes:
        most = f"{size_bytes:,} bytes, and at most {limit_bytes:,} can be handed over"
        return f"Error: the arguments are too large: they have {most}. Issue the call again with less."
    return parsed


def _problem(wanted: WantedCall, arguments: JsonObject | str, stop: str, offer: Offer) -> str | None:
    """Return why this call must not be run, worded for the model, or None."""
    known = wanted.name in offer.targets or wanted.name in offer.synchronous
    if stop != "tool_use":
        return f"Error: this call was cut off ({stop}) and was not run. Issue it again, with shorter arguments."
    if not known and wanted.name in RESERVED_NAMES:
        return f"Error: {wanted.name} cannot be called here. Use one of the tools you are offered."
    if not known:
        return f"Error: there is no tool named {_quoted(wanted.name)}. Use one of the tools you are offered."
    if isinstance(arguments, str):
        return arguments
    complaint = offer.checkers[wanted.name].complaint(arguments)
    return None if complaint is None else f"Error: the arguments do not fit the tool's schema: {complaint}"


def _quoted(written: str) -> str:
    return json.dumps(written[:_SHOWN_OF_WHAT_WAS_WRITTEN], ensure_ascii=False)
