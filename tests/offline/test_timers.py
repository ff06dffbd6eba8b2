"""Sleeps on a deployed stack. Here those of up to 5 s are delays of the timer queue, and longer ones are schedules."""

import re
import time
from datetime import UTC, datetime

import pytest

from scripts.commands.target import offline_target
from scripts.offline_stack.stack import OfflineStack
from tests.offline.mishaps import nobody_polls
from tests.offline.outside import Outside, Printed
from tests.offline.sleepers import PATIENCE_S, PAUSE_S, Sleepers

TIMER_POLLER = "timer-poller"
MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
ASLEEP = ["user", "tool_call"]
SLEPT = [*ASLEEP, "tool_result", "assistant"]
WOKEN = [*ASLEEP, "tool_result", "user", "assistant"]
ASLEEP_AGAIN = [*ASLEEP, "tool_result", "user", "tool_call"]
# A schedule is looked at every second, and what it sends goes by two queues and two functions.
LATE_S = 20
MANY = 40


@pytest.fixture(scope="module")
def sleepers(stack: OfflineStack) -> Sleepers:
    outside = Outside(stack, offline_target(stack))
    outside.settle()
    return Sleepers(outside)


def wait_for(printed: Printed, metric: str, times: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while printed.counted[metric] < times:
        assert time.monotonic() < deadline, f"{metric} is {printed.counted[metric]}"
        time.sleep(PAUSE_S)


def test_a_short_sleep_needs_no_schedule_and_ends_by_itself_and_not_before_its_time(sleepers: Sleepers) -> None:
    thread_id = sleepers.have_sleep("short", 2.5)
    sleepers.wait_until(ASLEEP, thread_id)
    assert sleepers.schedules() == {}

    sleepers.wait_until(SLEPT, thread_id)

    assert 3 <= sleepers.last_slept_s(thread_id) < 3 + LATE_S


@pytest.mark.parametrize(
    ("name", "seconds", "jump_s"),
    [
        ("twenty-minutes", 20 * MINUTE_S, 20 * MINUTE_S - 2),
        ("forty-days", 40 * DAY_S, 40 * DAY_S - 2),
        ("long-due", 20 * MINUTE_S, 3 * HOUR_S),
    ],
)
def test_a_long_sleep_ends_by_a_schedule_that_is_gone_then(
    sleepers: Sleepers, name: str, seconds: int, jump_s: int
) -> None:
    thread_id = sleepers.have_sleep(name, seconds)
    sleepers.wait_until(ASLEEP, thread_id)
    assert set(sleepers.schedules()) == {thread_id}

    sleepers.pass_time(jump_s)
    sleepers.wait_until(SLEPT, thread_id)

    expected_s = max(seconds, jump_s)
    assert expected_s <= sleepers.last_slept_s(thread_id) < expected_s + LATE_S
    assert sleepers.schedules() == {}


def test_what_is_due_already_ends_at_once(sleepers: Sleepers) -> None:
    past = {"date": "2020-02-29", "time": "18:30", "timezone": "Asia/Tokyo"}
    thread_ids = [
        sleepers.have_sleep("no-time", 0),
        sleepers.have_sleep("less-than-no-time", -60),
        sleepers.have_call("past", "sleep_until", past),
    ]

    sleepers.wait_until(SLEPT, *thread_ids)

    assert all(sleepers.last_slept_s(thread_id) < LATE_S for thread_id in thread_ids)


def test_two_threads_that_sleep_until_the_same_second_both_wake(sleepers: Sleepers) -> None:
    due = datetime.fromtimestamp(sleepers.outside.stack.now() + HOUR_S, tz=UTC)
    until = {"date": f"{due:%Y-%m-%d}", "time": f"{due:%H:%M:%S}"}
    thread_ids = [sleepers.have_call(name, "sleep_until", until) for name in ("one", "other")]
    sleepers.wait_until(ASLEEP, *thread_ids)
    assert {one["ScheduleExpression"] for one in sleepers.schedules().values()} == {f"at({due:%Y-%m-%dT%H:%M:%S})"}

    sleepers.pass_time(HOUR_S)

    sleepers.wait_until(SLEPT, *thread_ids)


def test_an_interrupted_sleep_says_how_long_it_was_and_its_schedule_is_deleted(sleepers: Sleepers) -> None:
    thread_id = sleepers.have_sleep("interrupted", 10 * MINUTE_S)
    sleepers.wait_until(ASLEEP, thread_id)

    sleepers.pass_time(2 * MINUTE_S)
    sleepers.say("Hello.", thread_id)
    sleepers.wait_until(WOKEN, thread_id)

    [woken] = sleepers.results(thread_id)
    found = re.fullmatch(r"Woken after (\d+) s, because something arrived\.", woken)
    assert found is not None
    assert 120 <= int(found[1]) < 120 + LATE_S
    assert sleepers.schedules() == {}


def test_a_delay_that_nobody_could_stop_does_nothing_when_it_is_over(sleepers: Sleepers) -> None:
    printed = sleepers.outside.printed()
    with nobody_polls(sleepers.outside, TIMER_POLLER):
        thread_id = sleepers.have_sleep("interrupted-early", 1)
        sleepers.wait_until(ASLEEP, thread_id)
        sleepers.say("Hello.", thread_id)
        sleepers.wait_until(WOKEN, thread_id)

    wait_for(printed, "timer_of_call_not_pending", 1)
    assert sleepers.kinds(thread_id) == WOKEN


def test_an_old_timer_does_nothing_to_a_conversation_that_sleeps_anew(sleepers: Sleepers) -> None:
    thread_id = sleepers.have_sleep("anew", 10 * MINUTE_S)
    sleepers.wait_until(ASLEEP, thread_id)
    old, printed = sleepers.timer_of(thread_id), sleepers.outside.printed()
    sleepers.pass_time(2 * MINUTE_S)
    sleepers.have_sleep(thread_id, 15 * MINUTE_S)
    sleepers.wait_until(ASLEEP_AGAIN, thread_id)

    sleepers.pass_time(8 * MINUTE_S)
    sleepers.put_on_the_timer_queue(old)
    wait_for(printed, "timer_of_call_not_pending", 1)
    assert sleepers.kinds(thread_id) == ASLEEP_AGAIN

    sleepers.pass_time(7 * MINUTE_S)
    sleepers.wait_until([*ASLEEP_AGAIN, "tool_result", "assistant"], thread_id)
    assert 15 * MINUTE_S <= sleepers.last_slept_s(thread_id) < 15 * MINUTE_S + LATE_S


def test_a_timer_that_comes_early_is_put_back_and_one_that_comes_twice_is_one(sleepers: Sleepers) -> None:
    thread_id = sleepers.have_sleep("twice", 10 * MINUTE_S)
    sleepers.wait_until(ASLEEP, thread_id)
    printed = sleepers.outside.printed()

    sleepers.put_on_the_timer_queue(sleepers.timer_of(thread_id))
    wait_for(printed, "timers_early", 1)
    assert printed.counted["timers_delivered"] == 0
    sleepers.pass_time(10 * MINUTE_S)
    wait_for(printed, "timers_delivered", 2)

    sleepers.wait_until(SLEPT, thread_id)
    assert len(sleepers.results(thread_id)) == 1


def test_a_thread_of_any_name_sleeps_and_its_schedule_is_found_again(sleepers: Sleepers) -> None:
    thread_id = sleepers.have_sleep(f"{sleepers.outside.run}/a:b#c.".ljust(128, "~"), HOUR_S)
    sleepers.wait_until(ASLEEP, thread_id)
    assert re.fullmatch(r"[0-9a-zA-Z\-_.]{1,64}", sleepers.schedules()[thread_id]["Name"])

    sleepers.say("Hello.", thread_id)
    sleepers.wait_until(WOKEN, thread_id)

    assert sleepers.schedules() == {}


def test_a_schedule_only_writes_to_the_timer_queue_and_does_not_try_for_ever(sleepers: Sleepers) -> None:
    thread_id = sleepers.have_sleep("written", HOUR_S)
    sleepers.wait_until(ASLEEP, thread_id)
    schedule = sleepers.schedules()[thread_id]

    assert schedule["ActionAfterCompletion"] == "DELETE"
    assert schedule["Target"]["Arn"].split(":")[2] == "sqs"
    assert schedule["Target"]["RetryPolicy"] == {"MaximumEventAgeInSeconds": DAY_S, "MaximumRetryAttempts": 30}

    sleepers.say("Hello.", thread_id)
    sleepers.wait_until(WOKEN, thread_id)


def test_many_sleeps_gone_off_or_interrupted_at_once_leave_no_schedule(sleepers: Sleepers) -> None:
    with nobody_polls(sleepers.outside):  # in a few large batches then, and not by as many processes
        thread_ids = [sleepers.have_sleep(f"many-{number}", HOUR_S) for number in range(MANY)]
    sleepers.wait_until(ASLEEP, *thread_ids)
    assert set(sleepers.schedules()) == set(thread_ids)

    with nobody_polls(sleepers.outside):
        sleepers.say("Hello.", *thread_ids[::2])
    sleepers.wait_until(WOKEN, *thread_ids[::2])
    assert set(sleepers.schedules()) == set(thread_ids[1::2])
    sleepers.pass_time(HOUR_S)
    sleepers.wait_until(SLEPT, *thread_ids[1::2])

    assert sleepers.schedules() == {}
    assert {len(sleepers.results(thread_id)) for thread_id in thread_ids} == {1}
