"""Timers: in memory, by the delay of the timer queue, and by a schedule; the last two through the relay."""

from dataclasses import replace
from typing import Protocol

import pytest

from runtime.adapters.aws.relay import TimerRecord, TimerRelay
from runtime.adapters.aws.scheduler import SchedulerTimers, TimerTargets
from runtime.adapters.clock import SystemClock
from runtime.adapters.memory.clock import ManualClock
from runtime.adapters.memory.queues import MemoryQueues
from runtime.adapters.memory.timers import MemoryTimers
from runtime.model.messages import Message
from runtime.ports import RawRecord, Timer, Timers
from runtime.wire.messages import parse_message
from tests.conformance.fifo_driver import FifoDriver, MemoryFifo, SqsFifoFactory
from tests.support.clients import create_standard_queue, fresh_name, queue_arn, scheduler_client, sqs_client
from tests.support.samples import keyring, text, wake

# How late a timer may be: a schedule is rounded up to a second, looked at every second, and then travels.
LATE_S = 3


class World(Protocol):
    """Timers, the time they live in, and the input queue behind them."""

    @property
    def timers(self) -> Timers: ...

    def now_ms(self) -> int: ...

    def pass_time(self, seconds: float) -> None: ...

    def arrived(self) -> list[RawRecord]:
        """Take what has come to the input queue by now."""


class MemoryWorld:
    def __init__(self) -> None:
        self._clock = ManualClock()
        self._inputs = MemoryFifo(self._clock, visibility_s=30)
        outputs = MemoryFifo(self._clock, visibility_s=30)
        self.timers = MemoryTimers(self._clock, MemoryQueues(self._inputs.queue, outputs.queue, keyring(), self._clock))

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def pass_time(self, seconds: float) -> None:
        self._clock.advance(seconds)

    def arrived(self) -> list[RawRecord]:
        self.timers.fire_due()
        return drained(self._inputs)


class AwsWorld:
    """The emulator, with this test in the place of what calls the relay."""

    def __init__(self, endpoint: str, delay_limit_s: int) -> None:
        self._sqs = sqs_client(endpoint)
        self._inputs = SqsFifoFactory(self._sqs).queue()
        self._timer_url = create_standard_queue(self._sqs)
        self._clock = SystemClock()
        scheduler = scheduler_client(endpoint)
        targets = TimerTargets(
            queue_url=self._timer_url,
            queue_arn=queue_arn(self._sqs, self._timer_url),
            schedule_group=fresh_name("timers"),
            scheduler_role_arn="arn:aws:iam::000000000000:role/scheduler",
            dead_letter_arn=queue_arn(self._sqs, create_standard_queue(self._sqs)),
            delay_limit_s=delay_limit_s,
        )
        scheduler.create_schedule_group(Name=targets.schedule_group)
        self.timers = SchedulerTimers(self._sqs, scheduler, targets, keyring(), self._clock)
        self._relay = TimerRelay(self._sqs, self._inputs.url, self._timer_url, max(1, delay_limit_s), self._clock)

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def pass_time(self, seconds: float) -> None:
        self._clock.sleep(seconds)

    def arrived(self) -> list[RawRecord]:
        while received := self._sqs.receive_message(QueueUrl=self._timer_url, MaxNumberOfMessages=10).get("Messages"):
            result = self._relay.relay([TimerRecord(one["MessageId"], one["Body"]) for one in received])
            assert result.failed == ()
            for one in received:
                self._sqs.delete_message(QueueUrl=self._timer_url, ReceiptHandle=one["ReceiptHandle"])
        return drained(self._inputs)


@pytest.fixture(params=["memory", "queue delay", "schedule"])
def world(request: pytest.FixtureRequest) -> World:
    if request.param == "memory":
        return MemoryWorld()
    delay_limit_s = 900 if request.param == "queue delay" else 0
    return AwsWorld(request.getfixturevalue("aws_endpoint"), delay_limit_s)


def drained(queue: FifoDriver) -> list[RawRecord]:
    records: list[RawRecord] = []
    while received := queue.receive():
        records += [one.record for one in received]
        for one in received:
            queue.delete(one.record.handle)
    return records


def arrivals_within(world: World, seconds: float) -> list[RawRecord]:
    """Wait for something to arrive, and a moment longer for what may come with it."""
    until_ms = world.now_ms() + round(1000 * seconds)
    arrived: list[RawRecord] = []
    while not arrived and world.now_ms() < until_ms:
        world.pass_time(0.1)
        arrived = world.arrived()
    world.pass_time(0.3)
    return arrived + world.arrived()


def timer(world: World, seconds: float, message: Message, name: str = "timer-1") -> Timer:
    return Timer(name, message, world.now_ms() + round(1000 * seconds))


def test_a_timer_goes_off_once_it_is_due_and_not_before(world: World) -> None:
    started = timer(world, 1.5, wake(version=3))
    world.timers.start(started)

    [record] = arrivals_within(world, 1.5 + LATE_S)

    assert record.sent_ms >= started.due_ms
    assert parse_message(record, keyring()).key == started.message.key


def test_a_timer_that_is_already_past_goes_off_at_once(world: World) -> None:
    world.timers.start(timer(world, -60, wake(version=3)))

    assert len(arrivals_within(world, 1)) == 1


def test_a_timer_started_twice_is_one_message(world: World) -> None:
    started = timer(world, 1, wake(version=3))
    world.timers.start(started)
    world.timers.start(started)

    assert len(arrivals_within(world, 1 + LATE_S)) == 1


def test_a_timer_started_again_after_it_went_off_is_still_one_message(world: World) -> None:
    started = timer(world, 1, wake(version=3))
    world.timers.start(started)
    assert len(arrivals_within(world, 1 + LATE_S)) == 1

    world.timers.start(started)

    assert arrivals_within(world, 0.5) == []


def test_two_timers_that_are_due_together_both_go_off(world: World) -> None:
    first = timer(world, 1, wake(version=3), "timer-1")
    second = replace(first, name="timer-2", message=wake(version=4))
    world.timers.start(first)
    world.timers.start(second)

    arrived = arrivals_within(world, 1 + LATE_S)

    ids = sorted(parse_message(record, keyring()).key.message_id for record in arrived)
    assert ids == [first.message.key.message_id, second.message.key.message_id]


def test_names_and_threads_of_any_letters_work(world: World) -> None:
    name = "thread/a:b#c é" + "x" * 200
    message = text("hello", "user:1", thread_id="a:b/c#d" + "x" * 120)
    world.timers.start(timer(world, 1, message, name))

    [record] = arrivals_within(world, 1 + LATE_S)
    assert record.group_id == message.thread_id
    world.timers.stop(name)


def test_stopping_a_timer_that_does_not_run_is_harmless(world: World) -> None:
    world.timers.stop("no such timer")

    assert world.arrived() == []


def test_a_stopped_timer_can_be_started_for_another_time(world: World) -> None:
    started = timer(world, 1, wake(version=3))
    world.timers.start(started)
    world.timers.stop(started.name)

    world.timers.start(replace(started, due_ms=started.due_ms + 1000))

    [record] = arrivals_within(world, 2 + LATE_S)
    assert parse_message(record, keyring()).key == started.message.key
