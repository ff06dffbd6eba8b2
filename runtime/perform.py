"""Making effects happen, over the ports. Returning means that every effect is out."""

import logging
from collections.abc import Sequence
from typing import assert_never

from runtime import calling, choosing
from runtime.effects import (
    Effect,
    HandOver,
    OfferChoice,
    Outputs,
    SendInputs,
    SendUndelivered,
    StartTimer,
    StopTimer,
    TakeChoice,
    TellCancelled,
    TellClosed,
    timer_name,
)
from runtime.errors import HandOverFailed, RetryableError
from runtime.model.calls import Call
from runtime.model.messages import TimerContent
from runtime.model.outputs import Output
from runtime.model.threads import ThreadRow
from runtime.own_messages import undelivered_message
from runtime.ports import Timer
from runtime.run import Run

logger = logging.getLogger(__name__)


def perform(effects: Sequence[Effect], row: ThreadRow, run: Run) -> None:
    """Perform the effects in their order, outputs that follow each other together, notices after all others.

    Raises:
        RetryableError: an effect is not out, and those after it have not been tried.
    """
    waiting: list[Output] = []
    for effect in effects:
        if isinstance(effect, Outputs):
            waiting.extend(effect.outputs)
            continue
        _send(waiting, run)
        _perform_one(effect, row, run)
    _send(waiting, run)
    _take_leave(effects, row, run)


def _perform_one(effect: Effect, row: ThreadRow, run: Run) -> None:
    match effect:
        case HandOver(call=call):
            _hand_over(call, row, run)
        case SendInputs(messages=messages):
            run.ports.queues.send_inputs(messages)
        case SendUndelivered(call=call, reason=reason):
            _send_undelivered(call.call_id, row, reason, run)
        case StartTimer(timer=timer):
            _start(timer, row, run)
        case StopTimer(name=name):
            _stop(name, run)
        case OfferChoice() | TakeChoice():
            choosing.perform(effect, row, run)
        case Outputs() | TellCancelled() | TellClosed():
            pass  # gathered: outputs that follow each other go out together, notices after everything else
        case _:
            assert_never(effect)


def _send(waiting: list[Output], run: Run) -> None:
    if waiting:
        run.ports.queues.send_outputs(tuple(waiting))
        waiting.clear()


def _hand_over(call: Call, row: ThreadRow, run: Run) -> None:
    """Give the call to its server. A failed hand-over, however definite it looks, becomes an `undelivered` message.

    Never an answer to the call: when this was a repeat, an earlier attempt may have reached the server, and the
    tool's real result must still find its place.
    """
    try:
        calling.hand_over(call, row, run)
    except HandOverFailed as failure:
        _send_undelivered(call.call_id, row, failure.reason, run)
    except RetryableError:
        if run.receive_count < run.settings.effect_patience_receives:
            raise
        _send_undelivered(call.call_id, row, "The call could not be handed over, again and again.", run)


def _start(timer: Timer, row: ThreadRow, run: Run) -> None:
    """Start the timer. A sleep that cannot be timed, again and again, is over: its thread would never wake."""
    try:
        run.ports.timers.start(timer)
    except RetryableError:
        content = timer.message.content
        if run.receive_count < run.settings.effect_patience_receives or not isinstance(content, TimerContent):
            raise
        _send_undelivered(content.call_id, row, "The time could not be set, again and again.", run)


def _stop(name: str, run: Run) -> None:
    """Stop the timer. One that cannot be stopped, again and again, is let go: nobody heeds it when it goes off."""
    try:
        run.ports.timers.stop(name)
    except RetryableError:
        if run.receive_count < run.settings.effect_patience_receives:
            raise
        run.counted.append("timer_not_stopped")


def _send_undelivered(call_id: str, row: ThreadRow, reason: str, run: Run) -> None:
    run.counted.append("call_not_handed_over")
    logger.warning("call not handed over", extra={"thread_id": row.thread_id, "call_id": call_id})
    run.ports.queues.send_inputs([undelivered_message(row.thread_id, call_id, reason)])


def _take_leave(effects: Sequence[Effect], row: ThreadRow, run: Run) -> None:
    """Take back what was asked and timed for what is over, and tell servers, last and all at once."""
    cancelled = [effect.cancelled for effect in effects if isinstance(effect, TellCancelled)]
    choosing.complete_choices_of([call.call_id for call in cancelled], row, run)
    notices = calling.notices_of_cancelled(cancelled, row.thread_id, run)
    if any(isinstance(effect, TellClosed) for effect in effects):
        ended = run.ports.history.ended_with(row.thread_id)
        for thread in ended:
            for call in thread.calls:
                if call.due_ms is not None:
                    _stop(timer_name(thread.thread_id, call.call_id), run)
        closed = [thread.thread_id for thread in ended]
        choosing.complete_choices_of_closed(closed, row, run)
        notices += calling.notices_of_closed(closed, run)
    calling.notify(notices, run)
