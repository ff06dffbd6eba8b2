"""The system's clock, chance and fresh names."""

import random
import time
import uuid


class SystemClock:
    """Wall-clock time; safe to share between threads."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))

    def fresh_id(self) -> str:
        return uuid.uuid4().hex

    def chance(self) -> float:
        return random.random()  # noqa: S311 - spreads retries, guards nothing
