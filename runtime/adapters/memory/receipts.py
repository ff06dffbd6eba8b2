"""Receipts, `performed` and marks of deaths, in memory."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from runtime.model.messages import Message, MessageKey
from runtime.ports import Clock, Mark, Progress


class MemoryReceipts:
    """Safe to share between threads. What has expired is forgotten as new receipts come in."""

    def __init__(self, clock: Clock, receipt_life_s: int) -> None:
        self._clock = clock
        self._life_ms = receipt_life_s * 1000
        self._receipts: OrderedDict[tuple[str, MessageKey], tuple[str, int]] = OrderedDict()
        self._performed: dict[str, int] = {}
        self._marks: dict[str, Mark] = {}
        self._lock = Lock()

    def read(self, thread_id: str, keys: Sequence[MessageKey]) -> Progress:
        now_ms = self._clock.now_ms()
        with self._lock:
            found = {key: self._receipts.get((thread_id, key)) for key in keys}
            unexpired = {key: kept[0] for key, kept in found.items() if kept is not None and kept[1] > now_ms}
            return Progress(unexpired, self._performed.get(thread_id, 0), self._marks.get(thread_id))

    def write(self, thread_id: str, handled: Sequence[Message], performed: int) -> None:
        now_ms = self._clock.now_ms()
        with self._lock:
            for message in handled:
                subject = (thread_id, message.key)
                self._receipts[subject] = (message.body_hash, now_ms + self._life_ms)
                self._receipts.move_to_end(subject)
            self._performed[thread_id] = performed
            self._forget_expired(now_ms)

    def mark(self, thread_id: str, mark: Mark | None) -> None:
        with self._lock:
            if mark is None:
                self._marks.pop(thread_id, None)
            else:
                self._marks[thread_id] = mark

    def _forget_expired(self, now_ms: int) -> None:
        while self._receipts:
            subject, (_, expires_ms) = next(iter(self._receipts.items()))
            if expires_ms > now_ms:
                return
            del self._receipts[subject]
