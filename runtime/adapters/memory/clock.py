"""A clock that stands still until it is told to move."""

import itertools
import threading


class ManualClock:
    """Sleeping moves it at once. Names count up, chances repeat, so that a run can be told again exactly."""

    def __init__(self, start_ms: int = 1_800_000_000_000, chances: tuple[float, ...] = (0.5,)) -> None:
        self._now_ms = start_ms
        self._names = itertools.count(1)
        self._chances = itertools.cycle(chances)
        self._lock = threading.Lock()

    def now_ms(self) -> int:
        return self._now_ms

    def sleep(self, seconds: float) -> None:
        self.advance(max(0.0, seconds))

    def advance(self, seconds: float) -> None:
        """Move by this much; a negative number sets the clock back, as real ones are now and then."""
        with self._lock:
            self._now_ms += round(seconds * 1000)

    def fresh_id(self) -> str:
        return f"fresh-{next(self._names):08d}"

    def chance(self) -> float:
        with self._lock:
            return next(self._chances)
