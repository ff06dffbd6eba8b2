"""Time, chance and fresh names, by the system and by hand."""

import pytest

from runtime.adapters.clock import SystemClock
from runtime.adapters.memory.clock import ManualClock
from runtime.ports import Clock


@pytest.fixture(params=[SystemClock, ManualClock])
def clock(request: pytest.FixtureRequest) -> Clock:
    made: Clock = request.param()
    return made


def test_sleeping_takes_its_time(clock: Clock) -> None:
    before_ms = clock.now_ms()

    clock.sleep(0.05)

    # A wall clock may be set while we sleep, by less than this.
    assert 45 <= clock.now_ms() - before_ms < 5_000


@pytest.mark.parametrize("seconds", [0, -1])
def test_sleeping_for_nothing_or_less_is_over_at_once(clock: Clock, seconds: float) -> None:
    before_ms = clock.now_ms()

    clock.sleep(seconds)

    assert clock.now_ms() - before_ms < 1_000


def test_time_is_in_milliseconds_since_1970(clock: Clock) -> None:
    # Between 2020 and 2100.
    assert 1_577_836_800_000 < clock.now_ms() < 4_102_444_800_000


def test_no_fresh_name_comes_twice(clock: Clock) -> None:
    assert len({clock.fresh_id() for _ in range(1_000)}) == 1_000


def test_chance_is_at_least_zero_and_less_than_one(clock: Clock) -> None:
    assert all(0 <= clock.chance() < 1 for _ in range(1_000))
