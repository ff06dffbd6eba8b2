"""The messages of one thread, handled until they are done or have to come back."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from runtime.errors import Misconfigured, PermanentError, RefusedTogether, RetryableError, StartAgain
from runtime.giving_up import back_off_s
from runtime.model.messages import Delivery
from runtime.outcome import SliceResult
from runtime.run import Environment, Run
from runtime.slice import run_slice

logger = logging.getLogger(__name__)

# A slice that is overtaken this often in a row leaves the thread to whoever overtakes it.
_FRESH_STARTS = 4


def handle_group(
    thread_id: str, deliveries: Sequence[Delivery], environment: Environment, deadline_ms: int
) -> SliceResult:
    """Run slices for these deliveries of one thread, in order, until they are handled or have to come back.

    Raises only for a defect of ours.
    """
    run = Run(environment, deadline_ms, max(delivery.receive_count for delivery in deliveries))
    try:
        result = _with_fresh_starts(thread_id, deliveries, run)
    except RefusedTogether:
        _ended_alive(thread_id, run)
        first = handle_group(thread_id, deliveries[:1], environment, deadline_ms)
        return replace(first, returned=(*first.returned, *deliveries[1:]))
    except (RetryableError, PermanentError) as error:
        result = _later(thread_id, deliveries, error, run)
    except Exception:
        _ended_alive(thread_id, run)  # a defect is no death either
        raise
    _ended_alive(thread_id, run)
    return replace(result, counted=(*result.counted, *run.counted))


def _ended_alive(thread_id: str, run: Run) -> None:
    """Clear the mark of deaths after any attempt that came to an end, or the next one here would take it for a death.

    If that fails, one death too many is counted, of several.
    """
    if run.receive_count < run.settings.mark_from_receive:
        return
    try:
        run.ports.receipts.mark(thread_id, None)
    except RetryableError as error:
        logger.warning("mark of deaths not cleared", extra={"thread_id": thread_id, "code": error.code})


def _with_fresh_starts(thread_id: str, deliveries: Sequence[Delivery], run: Run) -> SliceResult:
    for _ in range(_FRESH_STARTS):
        try:
            result = run_slice(thread_id, deliveries, run)
        except StartAgain as overtaken:
            logger.warning("slice starts again", extra={"thread_id": thread_id, "code": overtaken.code})
            _ended_alive(thread_id, run)
        else:
            _log_finished(thread_id, result, run)
            return result
    return SliceResult.later(deliveries, back_off_s(run.receive_count, run.ports.clock.chance()), "overtaken")


def _log_finished(thread_id: str, result: SliceResult, run: Run) -> None:
    fields = {
        "thread_id": thread_id,
        "handled": len(result.handled),
        "returned": len(result.returned),
        "counted": (*result.counted, *run.counted),
    }
    logger.info("slice finished", extra=fields)


def _later(
    thread_id: str, deliveries: Sequence[Delivery], error: RetryableError | PermanentError, run: Run
) -> SliceResult:
    """Let everything come back. What a store refuses for good ends on the dead-letter queue, where a person looks."""
    level = logging.ERROR if isinstance(error, Misconfigured | PermanentError) else logging.WARNING
    fields = {
        "thread_id": thread_id,
        "code": error.code,
        "receive_count": run.receive_count,
        "cause": type(error.__cause__ or error).__name__,  # never its message, which may quote what somebody wrote
    }
    logger.log(level, "messages come back later", extra=fields)
    return SliceResult.later(deliveries, back_off_s(run.receive_count, run.ports.clock.chance()), error.code)
