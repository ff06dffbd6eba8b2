"""Timers in memory: they go off when somebody who watches the clock says so."""

import heapq
import itertools
from threading import Lock

from runtime.ports import Clock, Queues, Timer


class MemoryTimers:
    """Safe to share between threads. Due timers put their messages on the input queue through `queues`."""

    def __init__(self, clock: Clock, queues: Queues) -> None:
        self._clock = clock
        self._queues = queues
        self._running: dict[str, Timer] = {}
        self._order: list[tuple[int, int, str]] = []
        self._ticks = itertools.count()
        self._lock = Lock()

    def start(self, timer: Timer) -> None:
        if timer.due_ms <= self._clock.now_ms():
            self._queues.send_inputs((timer.message,))
            return
        with self._lock:
            if timer.name not in self._running:
                self._running[timer.name] = timer
                heapq.heappush(self._order, (timer.due_ms, next(self._ticks), timer.name))

    def stop(self, name: str) -> None:
        with self._lock:
            self._running.pop(name, None)

    def fire_due(self) -> int:
        """Send the messages of all timers that are due, the earliest first, and return how many.

        A timer is forgotten only after its message was sent.
        """
        fired = 0
        while (timer := self._first_due(self._clock.now_ms())) is not None:
            self._queues.send_inputs((timer.message,))
            self.stop(timer.name)
            fired += 1
        return fired

    def next_due_ms(self) -> int | None:
        """Return when the next timer is due; None if none runs."""
        timer = self._first()
        return None if timer is None else timer.due_ms

    def _first_due(self, now_ms: int) -> Timer | None:
        timer = self._first()
        return timer if timer is not None and timer.due_ms <= now_ms else None

    def _first(self) -> Timer | None:
        with self._lock:
            while self._order:
                due_ms, _, name = self._order[0]
                timer = self._running.get(name)
                # A timer may have been stopped, and started again for another time, since it got this place.
                if timer is not None and timer.due_ms == due_ms:
                    return timer
                heapq.heappop(self._order)
            return None
