"""Due or not, how long still, and at what second."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.adapters.aws.scheduler import schedule_expression
from runtime.errors import InvalidMessage
from runtime.timers import TravellingTimer, next_delay_s, seconds_until
from runtime.wire.timers import read_timer, timer_body

NOW_MS = 1_800_000_000_000
TIMES_MS = st.integers(0, 4_000_000_000_000)


def due_in(milliseconds: int) -> TravellingTimer:
    return TravellingTimer(NOW_MS + milliseconds, "{}", "thread-1", "d1")


@pytest.mark.parametrize(
    ("milliseconds", "delay_s"), [(-1, None), (0, None), (1, 1), (1000, 1), (1001, 2), (900_000, 900), (900_001, 900)]
)
def test_a_timer_waits_whole_seconds_rounded_up_within_the_limit(milliseconds: int, delay_s: int | None) -> None:
    assert next_delay_s(due_in(milliseconds), NOW_MS, delay_limit_s=900) == delay_s


def test_an_early_timer_waits_at_least_a_second_whatever_the_limit() -> None:
    assert next_delay_s(due_in(5_000), NOW_MS, delay_limit_s=0) == 1


@given(due_ms=TIMES_MS, now_ms=TIMES_MS)
def test_nothing_is_due_before_its_time(due_ms: int, now_ms: int) -> None:
    left_s = seconds_until(due_ms, now_ms)

    assert (left_s <= 0) == (now_ms >= due_ms)
    assert 0 <= left_s * 1000 - (due_ms - now_ms) < 1000


@given(due_ms=TIMES_MS)
def test_a_schedule_is_set_to_the_next_full_second(due_ms: int) -> None:
    expression = schedule_expression(due_ms)

    at = datetime.strptime(expression, "at(%Y-%m-%dT%H:%M:%S)").replace(tzinfo=UTC)
    assert 0 <= round(at.timestamp() * 1000) - due_ms < 1000


@given(
    timer=st.builds(
        TravellingTimer,
        due_ms=TIMES_MS,
        body=st.text('ab"\\é😀\n', min_size=1),
        group_id=st.just("g"),
        deduplication_id=st.just("d"),
    )
)
def test_a_timer_arrives_as_it_was_sent_in_a_body_that_every_queue_takes(timer: TravellingTimer) -> None:
    body = timer_body(timer)

    assert body.isascii()
    assert body.isprintable()
    assert read_timer(body) == timer


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("not json", "body is not valid"),
        ("[]", "body is not valid"),
        ("{}", "due_ms is missing"),
        ('{"due_ms":"soon","body":"{}","group_id":"g","deduplication_id":"d"}', "due_ms is not valid"),
        ('{"due_ms":1,"body":"","group_id":"g","deduplication_id":"d"}', "body is not valid"),
        ('{"due_ms":1,"body":"{}","group_id":"g"}', "deduplication_id is missing"),
    ],
)
def test_a_body_that_is_no_timer_is_refused_with_the_field_at_fault(body: str, reason: str) -> None:
    with pytest.raises(InvalidMessage) as caught:
        read_timer(body)

    assert caught.value.reason.startswith(reason)
    assert "soon" not in caught.value.reason
