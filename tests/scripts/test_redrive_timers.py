"""Putting back timers that were given up, on the emulator's queues: whoever sleeps would not wake otherwise."""

from dataclasses import dataclass
from typing import Any

import pytest

from runtime.timers import TravellingTimer
from runtime.wire.timers import timer_body
from scripts.commands.redrive import Options, redrive_timers
from scripts.commands.target import Target
from tests.support.clients import create_standard_queue, sqs_client

PUT_BACK = Options(dry_run=False, delete_malformed=False, limit=100)
TIMER = timer_body(TravellingTimer(5_000, '{"group_id":"t","message_id":"timer:call_1"}', "t", "d1"))


@dataclass
class Timers:
    """The timer queue, and the queue of those that were given up."""

    sqs: Any
    url: str
    dead_letter_url: str

    @property
    def target(self) -> Target:
        return Target(self.sqs, {"TimerQueueUrl": self.url, "TimerDeadLetterQueueUrl": self.dead_letter_url})

    def give_up(self, body: str) -> None:
        self.sqs.send_message(QueueUrl=self.dead_letter_url, MessageBody=body)

    def arrived(self) -> list[str]:
        answer = self.sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10)
        return [message["Body"] for message in answer.get("Messages", [])]


@pytest.fixture
def timers(aws_endpoint: str) -> Timers:
    sqs = sqs_client(aws_endpoint)
    return Timers(sqs, create_standard_queue(sqs), create_standard_queue(sqs))


def test_a_timer_that_was_given_up_goes_back_to_the_letter_and_is_gone_there(timers: Timers) -> None:
    timers.give_up(TIMER)
    ((letter, fate),) = redrive_timers(timers.target, PUT_BACK)
    assert (letter.thread_id, letter.own_id, fate) == ("t", "timer:call_1", "put back")
    assert timers.arrived() == [TIMER]
    assert list(redrive_timers(timers.target, PUT_BACK)) == []


def test_a_dry_run_moves_no_timer(timers: Timers) -> None:
    timers.give_up(TIMER)
    dry = Options(dry_run=True, delete_malformed=True, limit=100)
    assert [fate for _, fate in redrive_timers(timers.target, dry)] == ["would be put back"]
    assert timers.arrived() == []
    assert [fate for _, fate in redrive_timers(timers.target, PUT_BACK)] == ["put back"]


def test_what_is_no_timer_stays_until_it_is_deleted_on_purpose(timers: Timers) -> None:
    timers.give_up("{nonsense")
    ((letter, fate),) = redrive_timers(timers.target, PUT_BACK)
    assert (letter.thread_id, fate) == ("", "left: malformed")
    delete = Options(dry_run=False, delete_malformed=True, limit=100)
    assert [fate for _, fate in redrive_timers(timers.target, delete)] == ["deleted: malformed"]
    assert timers.arrived() == []
