"""Making effects happen, over the ports. Returning means that every effect is out."""

import logging
from collections.abc import Sequence
from typing import assert_never

from runtime import calling
from runtime.effects import Effect, HandOver, Outputs, SendUndelivered, StartTimer, TellCancelled
from runtime.errors import HandOverFailed, RetryableError
from runtime.identity import undelivered_message_id
from runtime.model.calls import Call
from runtime.model.messages import Message, MessageKey, UndeliveredContent
from runtime.model.outputs import Output
from runtime.model.threads import ThreadRow
from runtime.run import Run

logger = logging.getLogger(__name__)


def perform(effects: Sequence[Effect], row: ThreadRow, run: Run) -> None:
    """Perform the effects in their order, outputs that follow each other together, notices after all others.

    Raises:
        RetryableError: an effect is not out, and those after it have not been tried.
    """
    waiting: list[Output] = []
    cancelled: list[TellCancelled] = []
    for effect in effects:
        match effect:
            case Outputs(outputs=outputs):
                waiting.extend(outputs)
            case TellCancelled():
                cancelled.append(effect)
            case HandOver(call=call):
                _send(waiting, run)
                _hand_over(call, row, run)
            case SendUndelivered(call=call, reason=reason):
                _send(waiting, run)
                _send_undelivered(call, row, reason, run)
            case StartTimer(timer=timer):
                _send(waiting, run)
                run.ports.timers.start(timer)
            case _:
                assert_never(effect)
    _send(waiting, run)
    calling.tell_cancelled([effect.cancelled for effect in cancelled], row.thread_id, run)


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
        _send_undelivered(call, row, failure.reason, run)
    except RetryableError:
        if run.receive_count < run.settings.effect_patience_receives:
            raise
        _send_undelivered(call, row, "The call could not be handed over, again and again.", run)


def _send_undelivered(call: Call, row: ThreadRow, reason: str, run: Run) -> None:
    run.counted.append("call_not_handed_over")
    logger.warning("call not handed over", extra={"thread_id": row.thread_id, "call_id": call.call_id})
    run.ports.queues.send_inputs([undelivered_message(row.thread_id, call.call_id, reason)])


def undelivered_message(thread_id: str, call_id: str, reason: str) -> Message:
    key = MessageKey("undelivered", undelivered_message_id(call_id))
    return Message(thread_id, key, UndeliveredContent(call_id, f"Error: {reason}"), body_hash="")
