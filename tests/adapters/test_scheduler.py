"""What the adapter of EventBridge Scheduler asks for; the emulator checks none of it."""

import re
import time
from typing import Any

import botocore.session
import pytest

from runtime.adapters.aws.scheduler import SchedulerTimers, TimerTargets
from runtime.adapters.clock import SystemClock
from runtime.adapters.memory.clock import ManualClock
from runtime.errors import Misconfigured, Unavailable
from runtime.ports import Clock, Timer
from tests.support.aws_wire import Answer, Wire, error
from tests.support.clients import create_standard_queue, fresh_name, queue_arn, scheduler_client, sqs_client
from tests.support.samples import keyring, text, wake

NOWHERE = "http://127.0.0.1:9"
TARGETS = TimerTargets(
    queue_url="https://sqs.us-east-1.amazonaws.com/000000000000/timers",
    queue_arn="arn:aws:sqs:us-east-1:000000000000:timers",
    schedule_group="Infinity-timers",
    scheduler_role_arn="arn:aws:iam::000000000000:role/scheduler",
    dead_letter_arn="arn:aws:sqs:us-east-1:000000000000:lost-timers",
    delay_limit_s=900,
)
CREATED = Answer(200, {"ScheduleArn": "arn:aws:scheduler:us-east-1:000000000000:schedule/g/n"})
SENT = Answer(200, {"MessageId": "m1"})


class Asked:
    """Timers whose requests are answered by the test."""

    def __init__(self, clock: Clock) -> None:
        sqs, scheduler = sqs_client(NOWHERE), scheduler_client(NOWHERE)
        self.queue, self.schedules = Wire(sqs), Wire(scheduler)
        self.clock = clock
        self.timers = SchedulerTimers(sqs, scheduler, TARGETS, keyring(), clock)

    def start(self, seconds: float, name: str = "timer-1") -> Timer:
        timer = Timer(name, wake(version=3), self.clock.now_ms() + round(1000 * seconds))
        self.timers.start(timer)
        return timer


@pytest.fixture
def asked() -> Asked:
    return Asked(ManualClock(start_ms=1_800_000_000_250))


@pytest.mark.parametrize(("seconds", "delay_s"), [(-5, 0), (0, 0), (0.001, 1), (7.5, 8), (900, 900)])
def test_a_short_wait_is_a_delay_of_the_queue_rounded_up(asked: Asked, seconds: float, delay_s: int) -> None:
    asked.queue.answer_next(SENT)

    asked.start(seconds)

    assert asked.queue.bodies[0]["DelaySeconds"] == delay_s
    assert asked.schedules.operations == []


def test_a_longer_wait_is_a_one_time_schedule_that_leaves_nothing_behind(asked: Asked) -> None:
    asked.schedules.answer_next(CREATED)

    asked.start(900.001)

    [body] = asked.schedules.bodies
    assert body["ScheduleExpression"] == "at(2027-01-15T08:15:01)"
    assert body["ScheduleExpressionTimezone"] == "UTC"
    assert body["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert body["ActionAfterCompletion"] == "DELETE"
    assert asked.queue.operations == []


def test_a_schedule_writes_to_the_timer_queue_and_gives_up_to_its_dead_letters(asked: Asked) -> None:
    asked.schedules.answer_next(CREATED)

    asked.start(3_600)

    target = asked.schedules.bodies[0]["Target"]
    assert (target["Arn"], target["RoleArn"]) == (TARGETS.queue_arn, TARGETS.scheduler_role_arn)
    assert target["DeadLetterConfig"] == {"Arn": TARGETS.dead_letter_arn}
    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": 86_400, "MaximumRetryAttempts": 30}
    assert "SqsParameters" not in target


@pytest.mark.parametrize("name", ["thread/1:call#2", "x" * 500, "é", "a b"])
def test_one_name_that_the_service_takes_stands_for_a_timer_whatever_its_own_name(asked: Asked, name: str) -> None:
    asked.schedules.answer_next(CREATED, CREATED, Answer(200))
    asked.start(3_600, name)
    asked.start(3_600, name)
    asked.timers.stop(name)

    created, again, stopped = (path.rpartition("/")[2] for path in asked.schedules.paths)

    assert created == again == stopped
    pattern, longest = _limits("Name")
    assert len(created) <= longest
    assert re.fullmatch(pattern, created)


def test_every_field_fits_what_the_service_states(asked: Asked) -> None:
    asked.schedules.answer_next(CREATED)
    asked.start(3_600)

    body = asked.schedules.bodies[0]

    for field, value in (
        ("GroupName", body["GroupName"]),
        ("ScheduleExpression", body["ScheduleExpression"]),
        ("ScheduleExpressionTimezone", body["ScheduleExpressionTimezone"]),
        ("ClientToken", body["ClientToken"]),
    ):
        pattern, longest = _limits(field)
        assert len(value) <= longest
        assert re.search(pattern, value)


def test_a_schedule_that_exists_is_the_one_that_was_wished_for(asked: Asked) -> None:
    asked.schedules.answer_next(error(409, "ConflictException"))

    asked.start(3_600)

    assert len(asked.schedules.paths) == 1


def test_a_schedule_that_is_not_there_is_stopped(asked: Asked) -> None:
    asked.schedules.answer_next(error(404, "ResourceNotFoundException"))

    asked.timers.stop("timer-1")

    assert len(asked.schedules.paths) == 1


def test_a_group_that_does_not_exist_is_for_a_person_to_look_at(asked: Asked) -> None:
    asked.schedules.answer_next(error(404, "ResourceNotFoundException"))

    with pytest.raises(Misconfigured):
        asked.start(3_600)


def test_a_scheduler_that_fails_is_unavailable(asked: Asked) -> None:
    asked.schedules.answer_next(*[error(500, "InternalServerException")] * 6)

    with pytest.raises(Unavailable):
        asked.start(3_600)
    with pytest.raises(Unavailable):
        asked.timers.stop("timer-1")


def test_two_hundred_timers_gone_off_or_stopped_leave_no_schedule(aws_endpoint: str) -> None:
    sqs, scheduler = sqs_client(aws_endpoint), scheduler_client(aws_endpoint)
    url, group = create_standard_queue(sqs), fresh_name("timers")
    scheduler.create_schedule_group(Name=group)
    targets = TimerTargets(url, queue_arn(sqs, url), group, TARGETS.scheduler_role_arn, TARGETS.dead_letter_arn, 0)
    timers = SchedulerTimers(sqs, scheduler, targets, keyring(), SystemClock())
    soon_ms = SystemClock().now_ms() + 1_500
    for number in range(100):
        timers.start(Timer(f"soon-{number}", text("hello", f"user:{number}"), soon_ms))
        timers.start(Timer(f"stopped-{number}", text("hello", f"user:stopped-{number}"), soon_ms + 3_600_000))
    for number in range(100):
        timers.stop(f"stopped-{number}")

    until_s = time.monotonic() + 20
    while scheduler.list_schedules(GroupName=group)["Schedules"] and time.monotonic() < until_s:
        time.sleep(0.2)

    assert scheduler.list_schedules(GroupName=group)["Schedules"] == []
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])["Attributes"]
    assert int(attributes["ApproximateNumberOfMessages"]) == 100


def _limits(member: str) -> tuple[str, int]:
    """Return the pattern and the greatest length that the service model states for a field of CreateSchedule."""
    model = botocore.session.get_session().get_service_model("scheduler")
    shape: Any = model.operation_model("CreateSchedule").input_shape
    stated = shape.members[member].metadata
    return stated.get("pattern", ""), stated["max"]
