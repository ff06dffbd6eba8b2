"""What the timer relay does: due timers go to the input queue, early ones back to the timer queue."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.adapters.aws.sqs import Outgoing, chunks, send_batch
from runtime.errors import InvalidMessage, RetryableError
from runtime.ports import Clock
from runtime.timers import next_delay_s
from runtime.wire.timers import read_timer

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TimerRecord:
    """A record of the timer queue."""

    record_id: str
    body: str


@dataclass(frozen=True, slots=True)
class RelayResult:
    """What became of a batch. `failed` are the ids of the records that have to come back, malformed ones among them."""

    failed: tuple[str, ...]
    malformed: int
    delivered: int
    put_back: int


@dataclass(frozen=True, slots=True)
class _Move:
    record_id: str
    entry: Outgoing
    is_due: bool


class TimerRelay:
    """Safe to repeat: a message keeps its deduplication id, and its identity for whoever reads it after that."""

    def __init__(
        self, client: "SQSClient", input_url: str, timer_queue_url: str, delay_limit_s: int, clock: Clock
    ) -> None:
        self._client = client
        self._input_url = input_url
        self._timer_queue_url = timer_queue_url
        self._delay_limit_s = delay_limit_s
        self._clock = clock

    def relay(self, records: Sequence[TimerRecord]) -> RelayResult:
        """Move each record on. One that cannot be read or sent is reported, and holds up no other."""
        now_ms = self._clock.now_ms()
        moves = {record.record_id: self._move(record, now_ms) for record in records}
        malformed = [record_id for record_id, move in moves.items() if move is None]
        due = [move for move in moves.values() if move is not None and move.is_due]
        early = [move for move in moves.values() if move is not None and not move.is_due]
        undelivered = self._send(self._input_url, due)
        not_put_back = self._send(self._timer_queue_url, early)
        return RelayResult(
            failed=(*malformed, *undelivered, *not_put_back),
            malformed=len(malformed),
            delivered=len(due) - len(undelivered),
            put_back=len(early) - len(not_put_back),
        )

    def _move(self, record: TimerRecord, now_ms: int) -> _Move | None:
        try:
            timer = read_timer(record.body)
        except InvalidMessage as error:
            # Reported as failed, it comes back until the queue moves it to its dead letters.
            logger.warning("malformed timer", extra={"record_id": record.record_id, "reason": error.reason})
            return None
        delay_s = next_delay_s(timer, now_ms, self._delay_limit_s)
        if delay_s is None:
            return _Move(record.record_id, Outgoing(timer.body, timer.group_id, timer.deduplication_id), is_due=True)
        return _Move(record.record_id, Outgoing(record.body, delay_s=delay_s), is_due=False)

    def _send(self, url: str, moves: Sequence[_Move]) -> list[str]:
        """Send, and return the ids of the records whose message was not taken."""
        failed: list[str] = []
        start = 0
        for chunk in chunks([move.entry for move in moves]):
            ids = [move.record_id for move in moves[start : start + len(chunk)]]
            failed += self._send_chunk(url, ids, chunk)
            start += len(chunk)
        return failed

    def _send_chunk(self, url: str, ids: Sequence[str], chunk: Sequence[Outgoing]) -> list[str]:
        try:
            return [ids[index] for index in send_batch(self._client, url, chunk)]
        except RetryableError as error:
            logger.warning("timers not moved", extra={"count": len(ids), "problem": str(error)})
            return list(ids)
