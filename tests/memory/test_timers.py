"""What only timers that we let go off can promise."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from runtime.adapters.memory.clock import ManualClock
from runtime.adapters.memory.timers import MemoryTimers
from runtime.errors import Unavailable
from runtime.model.messages import Message
from runtime.model.outputs import Output
from runtime.ports import Timer
from tests.support.samples import wake


class Sent:
    """Queues that keep what they are given, or fail as often as they are told to."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.failures = 0

    def send_inputs(self, messages: Sequence[Message]) -> None:
        if self.failures:
            self.failures -= 1
            raise Unavailable("the queue is away")
        self.messages += messages

    def send_outputs(self, outputs: Sequence[Output]) -> None:
        raise AssertionError(outputs)


def started(timers: MemoryTimers, clock: ManualClock, *seconds: float) -> list[Timer]:
    made = [Timer(f"timer-{at}", wake(round(at)), clock.now_ms() + round(1000 * at)) for at in seconds]
    for timer in made:
        timers.start(timer)
    return made


def test_timers_go_off_in_the_order_of_their_due_times() -> None:
    clock, sent = ManualClock(), Sent()
    timers = MemoryTimers(clock, sent)
    late, early = started(timers, clock, 20, 10)

    clock.advance(20)

    assert timers.fire_due() == 2
    assert sent.messages == [early.message, late.message]
    assert timers.fire_due() == 0


def test_a_stopped_timer_does_not_go_off() -> None:
    clock, sent = ManualClock(), Sent()
    timers = MemoryTimers(clock, sent)
    [timer] = started(timers, clock, 10)

    timers.stop(timer.name)
    clock.advance(10)

    assert timers.fire_due() == 0
    assert timers.next_due_ms() is None


def test_the_next_due_time_is_that_of_the_earliest_timer_that_still_runs() -> None:
    clock, sent = ManualClock(), Sent()
    timers = MemoryTimers(clock, sent)
    first, second = started(timers, clock, 10, 20)

    timers.stop(first.name)

    assert timers.next_due_ms() == second.due_ms


def test_a_timer_whose_message_could_not_be_sent_goes_off_again() -> None:
    clock, sent = ManualClock(), Sent()
    timers = MemoryTimers(clock, sent)
    [timer] = started(timers, clock, 10)
    clock.advance(10)
    sent.failures = 1
    with pytest.raises(Unavailable):
        timers.fire_due()

    assert timers.fire_due() == 1
    assert sent.messages == [timer.message]


def test_a_timer_started_again_for_later_holds_up_no_other() -> None:
    clock, sent = ManualClock(), Sent()
    timers = MemoryTimers(clock, sent)
    [moved, other] = started(timers, clock, 10, 12)
    timers.stop(moved.name)
    timers.start(replace(moved, due_ms=moved.due_ms + 20_000))

    clock.advance(12)

    assert timers.fire_due() == 1
    assert sent.messages == [other.message]
    assert timers.next_due_ms() == moved.due_ms + 20_000
