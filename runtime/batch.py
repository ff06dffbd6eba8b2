"""One delivery of the queue: records of several threads, each thread's in order, threads side by side.

Threads whose records came often already run alone and last: what ends the process then takes no innocent with it.
"""

import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from queue import LifoQueue

from runtime.errors import InvalidMessage, RetryableError, described
from runtime.giving_up import back_off_s
from runtime.group import handle_group
from runtime.model.messages import Delivery
from runtime.outcome import SliceResult
from runtime.ports import Clock, InputQueue, RawRecord
from runtime.run import Environment
from runtime.wire.messages import parse_message

logger = logging.getLogger(__name__)

# A first receive that waited this long for its turn in the batch gets its whole visibility back before it starts.
_WAITED_LONG_MS = 10_000
# A group that is begun with less time would be ended by Lambda, and its mark would count the death of an innocent.
_LEAST_MS = 20_000


@dataclass(frozen=True, slots=True)
class Workers:
    """As many environments as threads may run at the same time. Last in, first out: what is warm is used again."""

    idle: LifoQueue[Environment]
    executor: Executor
    input_queue: InputQueue
    clock: Clock
    visibility_s: int
    alone_from_receive: int


@dataclass(frozen=True, slots=True)
class BatchResult:
    """`failed` are the ids of records that come back; `counted` names what is worth a metric, once per occurrence.

    `oldest_call_s`: the longest that one of these threads has waited for a call that still runs.
    """

    failed: tuple[str, ...]
    counted: tuple[str, ...]
    oldest_call_s: int = 0


def run_batch(records: Sequence[RawRecord], workers: Workers, time_left_s: float) -> BatchResult:
    """Handle the records. Each is handled, parked, or among the failed; none of them makes this raise."""
    deadline_ms = workers.clock.now_ms() + int(time_left_s * 1000)
    groups: dict[str, list[RawRecord]] = {}
    for record in records:
        groups.setdefault(record.group_id, []).append(record)
    by_receives = sorted(groups.values(), key=_receive_count)
    first = [group for group in by_receives if _receive_count(group) < workers.alone_from_receive]
    if len(first) > 1:
        results = list(workers.executor.map(lambda group: _run_group(group, workers, deadline_ms), first))
    else:
        results = [_run_group(group, workers, deadline_ms) for group in first]
    for group in by_receives[len(first) :]:
        if workers.clock.now_ms() + _LEAST_MS > deadline_ms:
            results.append(BatchResult(tuple(record.record_id for record in group), ("no_time_left",)))
        else:
            results.append(_run_group(group, workers, deadline_ms))
    return BatchResult(
        failed=_joined(result.failed for result in results),
        counted=_joined(result.counted for result in results),
        oldest_call_s=max((result.oldest_call_s for result in results), default=0),
    )


def _receive_count(group: Sequence[RawRecord]) -> int:
    return max(record.receive_count for record in group)


def _joined(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(name for part in parts for name in part)


def _run_group(records: Sequence[RawRecord], workers: Workers, deadline_ms: int) -> BatchResult:
    environment = workers.idle.get()
    try:
        return _handle(records, environment, workers, deadline_ms)
    except Exception as defect:  # noqa: BLE001 - one thread's must not fail all, and Lambda would slow every thread down
        fields = {"thread_id": records[0].group_id, **described(defect)}
        logger.error("slice failed unexpectedly", extra=fields)  # noqa: TRY400 - a traceback would quote its message
        _postpone(records, back_off_s(_receive_count(records), workers.clock.chance()), workers.input_queue)
        return BatchResult(tuple(record.record_id for record in records), ("defect",))
    finally:
        workers.idle.put(environment)


def _handle(records: Sequence[RawRecord], environment: Environment, workers: Workers, deadline_ms: int) -> BatchResult:
    ports = environment.ports
    if records[0].receive_count == 1 and ports.clock.now_ms() - records[0].first_received_ms > _WAITED_LONG_MS:
        _postpone(records, workers.visibility_s, workers.input_queue)
    reading = _read(records, environment, workers.input_queue)
    result = SliceResult(())
    if reading.deliveries:
        result = handle_group(records[0].group_id, reading.deliveries, environment, deadline_ms)
    returned = {delivery.record_id for delivery in result.returned} | reading.unread
    failed = [record for record in _failed(records, returned) if record.record_id not in reading.parked]
    visibility_s = result.visibility_s
    if reading.unread and not result.returned:
        visibility_s = back_off_s(_receive_count(records), ports.clock.chance())
    # One time for all of them: a message that came back before an earlier one would only find its group locked.
    faults = _postpone(failed, visibility_s, workers.input_queue)
    counted = (*reading.counted, *result.counted, *faults)
    return BatchResult(tuple(record.record_id for record in failed), counted, result.oldest_call_s)


def _postpone(records: Sequence[RawRecord], visibility_s: int, queue: InputQueue) -> tuple[str, ...]:
    """Change the records' visibility; return what went wrong. They then come back when they would have anyway."""
    if not records:
        return ()
    try:
        queue.postpone([record.handle for record in records], visibility_s)
    except RetryableError as error:
        logger.warning("visibility not changed", extra={"thread_id": records[0].group_id, "code": error.code})
        return (error.code,)
    return ()


@dataclass(frozen=True, slots=True)
class _Reading:
    deliveries: list[Delivery]
    parked: set[str]
    unread: set[str]
    counted: tuple[str, ...]


def _read(records: Sequence[RawRecord], environment: Environment, queue: InputQueue) -> _Reading:
    """Parse the records in order; park what can never be handled; leave the rest once something is not to be had."""
    deliveries: list[Delivery] = []
    parked: set[str] = set()
    counted: list[str] = []
    for index, record in enumerate(records):
        try:
            delivery = _delivery(record, environment, queue)
        except RetryableError as error:
            logger.warning("messages cannot be read now", extra={"code": error.code})
            return _Reading(deliveries, parked, {later.record_id for later in records[index:]}, (*counted, error.code))
        if delivery is None:
            parked.add(record.record_id)
            counted.append("malformed_bodies")
        else:
            deliveries.append(delivery)
    return _Reading(deliveries, parked, set(), tuple(counted))


def _delivery(record: RawRecord, environment: Environment, queue: InputQueue) -> Delivery | None:
    """Return the record parsed, or None when it was parked."""
    try:
        message = parse_message(record, environment.ports.keyring)
    except InvalidMessage as fault:
        queue.park(record, fault.reason)
        logger.warning("message parked", extra={"record_id": record.record_id, "reason": fault.reason})
        return None
    return Delivery(message, record.record_id, record.receive_count)


def _failed(records: Sequence[RawRecord], returned: set[str]) -> Sequence[RawRecord]:
    """Return the first record that comes back and all behind it; those of them that are done have their receipts."""
    for index, record in enumerate(records):
        if record.record_id in returned:
            return records[index:]
    return ()
