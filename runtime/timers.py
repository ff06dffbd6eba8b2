"""Whether a timer is due, and how long it still waits. Pure.

A timer travels as a message of the timer queue, which is a standard one, because a FIFO queue delays no single message
and a schedule cannot give the deduplication id that a FIFO queue needs. Only the relay, which reads the timer queue,
judges whether it is due: delays are kept roughly, and schedules fire within a minute.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TravellingTimer:
    """A message for the input queue on its way through time: its body and the two ids it is to be sent with."""

    due_ms: int
    body: str
    group_id: str
    deduplication_id: str


def seconds_until(due_ms: int, now_ms: int) -> int:
    """Return how many whole seconds are left, rounded up; 0 or less means due."""
    return -((now_ms - due_ms) // 1000)


def next_delay_s(timer: TravellingTimer, now_ms: int, delay_limit_s: int) -> int | None:
    """Return how long the timer waits on the timer queue once more; None means that it is due.

    At least a second, so that a timer which is early does not run in circles.
    """
    left_s = seconds_until(timer.due_ms, now_ms)
    return max(1, min(left_s, delay_limit_s)) if left_s > 0 else None
