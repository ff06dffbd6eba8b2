"""What is to happen outside because of a commit. Pure: from committed rows alone, so that anyone can do it again.

Every effect carries a name that is the same each time it is derived; doing it twice is harmless. What leaves no row
derives from the message that asks for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runtime import own_messages, phrases
from runtime.identity import child_id, digest
from runtime.model.calls import AT_WORK_STATES, Call, may_ask
from runtime.model.choices import Choice
from runtime.model.entries import (
    AssistantText,
    CancelledCall,
    Closed,
    Deed,
    Entry,
    Event,
    Reported,
    Spawned,
    StoppedTimer,
    ToldChild,
    ToolCall,
    ToolResult,
)
from runtime.model.messages import (
    ChoiceAnswerContent,
    ChoiceContent,
    CompactionContent,
    EventContent,
    Message,
    OauthContent,
    TextContent,
)
from runtime.model.outputs import Output
from runtime.model.threads import SummaryRef, Thread, ThreadRow, behind
from runtime.outputs import choice_output, error_output, output_of_message, outputs_of
from runtime.ports import Timer


@dataclass(frozen=True, slots=True)
class Outputs:
    """Outputs of one entry, of a message, or of a giving up, in their order. Position 0 stands for no entry."""

    position: int
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class HandOver:
    """Give this call to its tool server."""

    position: int
    call: Call


@dataclass(frozen=True, slots=True)
class SendInputs:
    """Send messages of ours, to this thread or to another."""

    position: int
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class StartTimer:
    position: int
    timer: Timer


@dataclass(frozen=True, slots=True)
class StopTimer:
    position: int
    name: str


@dataclass(frozen=True, slots=True)
class TellCancelled:
    """Let the call's server know, best effort, and complete what it has asked its user."""

    position: int
    cancelled: CancelledCall


@dataclass(frozen=True, slots=True)
class TellClosed:
    """Let servers know, best effort, which threads have closed with this one, and stop what they slept on."""

    position: int


@dataclass(frozen=True, slots=True)
class OfferChoice:
    """Keep what a user is to choose, then show it."""

    position: int
    choice: Choice
    shown: Output


@dataclass(frozen=True, slots=True)
class TakeChoice:
    """Tell the tool server what the user chose, and then everybody that the choice is no longer open."""

    position: int
    message_id: str
    choice_id: str
    selected: int


@dataclass(frozen=True, slots=True)
class SendUndelivered:
    """Stands for a hand-over that is given up: the thread is told by a message."""

    position: int
    call: Call
    reason: str


Effect = (
    Outputs
    | HandOver
    | SendInputs
    | SendUndelivered
    | StartTimer
    | StopTimer
    | TellCancelled
    | TellClosed
    | OfferChoice
    | TakeChoice
)


def effects_after(thread: Thread, performed: int) -> tuple[Effect, ...]:
    """Return the effects of own rows behind `performed`, by position, and those of the thread's row that stand."""
    owed = behind(max(performed, thread.row.birth.inherited), thread.entries)
    of_entries = [effect for entry in owed for effect in _effects_of(thread, entry)]
    return (*of_entries, *_effects_of_row(thread.row))


def _effects_of(thread: Thread, entry: Entry) -> Iterator[Effect]:
    outputs = tuple(outputs_of(thread.row, entry))
    if outputs:
        yield Outputs(entry.position, outputs)
    body = entry.body
    match body:
        case ToolCall():
            yield from _effects_of_call(thread, entry.position, thread.calls.get(body.call_id))
        case ToolResult(cancelled=cancelled) | Event(cancelled=cancelled) if cancelled is not None:
            yield TellCancelled(entry.position, cancelled)
        case AssistantText(reports=True):
            yield SendInputs(
                entry.position, (own_messages.report(thread.row, entry.position, body.report or body.text),)
            )
        case AssistantText(closes=True):
            yield TellClosed(entry.position)
        case _:
            pass
    if isinstance(body, ToolResult) and body.deed is not None:
        yield from _effects_of_deed(thread.row, entry.position, body.call_id, body.deed)


def _effects_of_call(thread: Thread, position: int, call: Call | None) -> Iterator[Effect]:
    # An answered call is not handed over again, for the sake of servers that ignore the idempotency key.
    if call is None or call.state not in AT_WORK_STATES:
        return
    if call.target.toolset is not None:
        yield HandOver(position, call)
    if call.due_ms is not None and call.state == "pending":
        message = own_messages.timer_message(thread.row.thread_id, call)
        yield StartTimer(position, Timer(timer_name(thread.row.thread_id, call.call_id), message, call.due_ms))


def _effects_of_deed(row: ThreadRow, position: int, call_id: str, deed: Deed) -> Iterator[Effect]:
    match deed:
        case Spawned(child_id=spawned_id):
            yield SendInputs(position, (own_messages.first_wake(spawned_id),))
        case ToldChild(told_id=told_id, spawn_call_id=spawn_call_id, message=message):
            yield SendInputs(position, (own_messages.to_child(told_id, spawn_call_id, call_id, message),))
        case Reported(report=report):
            yield SendInputs(position, (own_messages.report(row, position, report),))
        case Closed(last_report=report):
            # Of a thread that was made for one event nobody waits to hear that it is over.
            if report or row.birth.kind != "event":
                yield SendInputs(position, (own_messages.last_report(row, report),))
            yield TellClosed(position)
        case StoppedTimer(timed_call_id=timed_call_id):
            yield StopTimer(position, timer_name(row.thread_id, timed_call_id))


def timer_name(thread_id: str, name: str) -> str:
    """Return the name of the timer of a call, or of a wake, of this thread."""
    return digest(thread_id, name)


def _effects_of_row(row: ThreadRow) -> Iterator[Effect]:
    yield from _effects_of_giving_up(row)
    if row.compaction is not None and not row.compaction.failed and not row.closed:
        # Whoever meets the mark wakes the compaction once more: the thread that began it may have died before.
        yield SendInputs(0, (own_messages.first_wake(row.compaction.thread_id),))
    if row.birth.kind == "compaction" and row.closed:
        yield SendInputs(0, (own_messages.compaction_ended(row),))


def _effects_of_giving_up(row: ThreadRow) -> Iterator[Effect]:
    gave_up = row.gave_up
    if gave_up is None:
        return
    if row.birth.kind != "compaction":
        error = error_output(row, gave_up.message_id, gave_up.code, gave_up.text)
        closed = (output_of_message(row, gave_up.message_id, "thread_closed", {}),) if row.closed else ()
        yield Outputs(0, (error, *closed))
        if row.closed:
            yield TellClosed(0)
    if gave_up.wake_due_ms is None and row.birth.kind == "spawned":
        yield SendInputs(0, (own_messages.word_of_stopping(row, gave_up.text),))
    if gave_up.wake_due_ms is not None:
        wake = own_messages.wake_message(row.thread_id, row.version, gave_up.attempt or 0)
        yield StartTimer(0, Timer(timer_name(row.thread_id, wake.key.message_id), wake, gave_up.wake_due_ms))


def effects_of_messages(thread: Thread, messages: Sequence[Message]) -> tuple[Effect, ...]:
    """Return the effects of these messages that leave no entry, in order. `thread` has consumed them."""
    return tuple(effect for message in messages for effect in _effects_of_message(thread, message))


def _effects_of_message(thread: Thread, message: Message) -> Iterator[Effect]:
    content, message_id, row = message.content, message.key.message_id, thread.row
    match content:
        case EventContent(associative=False):
            made_for_it = child_id(row.thread_id, message_id)
            # One that its thread took along, closing in the same commit, still has to say that it began.
            if row.closed or any(child.thread_id == made_for_it for child in thread.family.children):
                yield SendInputs(0, (own_messages.first_wake(made_for_it),))
        case CompactionContent(up_to=up_to) if row.summary == SummaryRef(content.compaction_id, up_to):
            yield Outputs(0, (output_of_message(row, message_id, "compacted", {"up_to": up_to}),))
        # What closed together with an ancestor has calls that look as if they still ran.
        case OauthContent(auth_url=auth_url) if thread.is_open and may_ask(thread.calls.get(content.call_id)):
            yield Outputs(0, (output_of_message(row, message_id, "oauth_required", {"auth_url": auth_url}),))
        case ChoiceContent() if thread.is_open and may_ask(thread.calls.get(content.call_id)):
            yield _choice_offered(thread, message, content)
        case ChoiceAnswerContent(choice_id=choice_id, selected=selected):
            yield TakeChoice(0, message_id, choice_id, selected)
        case _:
            return


def effects_of_refused(row: ThreadRow, messages: Sequence[Message]) -> tuple[Effect, ...]:
    """Return what tells a parent, or whoever speaks, that the thread had closed before it read their message."""
    bounces = own_messages.bounces(row, messages)
    refused = [message.key.message_id for message in messages if isinstance(message.content, TextContent)]
    errors = tuple(error_output(row, message_id, "thread_closed", phrases.CLOSED) for message_id in refused)
    return (SendInputs(0, tuple(bounces)), Outputs(0, errors))


def _choice_offered(thread: Thread, message: Message, content: ChoiceContent) -> OfferChoice:
    call, row = thread.calls[content.call_id], thread.row
    choice = Choice(
        thread_id=row.thread_id,
        choice_id=digest(row.thread_id, message.key.message_id),
        call_id=call.call_id,
        toolset=call.target.toolset or "",
        prompt=content.prompt,
        choices=content.choices,
        default=content.default,
        response_url=content.response_url,
    )
    return OfferChoice(0, choice, choice_output(row, message.key.message_id, choice))
