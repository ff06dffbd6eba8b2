"""The timer relay as Lambda calls it, over real queues of the emulator."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from types_boto3_sqs import SQSClient

from handlers import timer_relay
from runtime.adapters.aws.relay import TimerRecord, TimerRelay
from runtime.adapters.clock import SystemClock
from runtime.adapters.memory.clock import ManualClock
from runtime.timers import TravellingTimer
from runtime.wire.timers import timer_body
from scripts.offline_stack.emulator import REGION
from tests.conformance.fifo_driver import SqsFifo, SqsFifoFactory
from tests.support.aws_wire import Wire, error
from tests.support.clients import create_standard_queue, sqs_client

DELAY_LIMIT_S = 2


@dataclass(frozen=True, slots=True)
class Queues:
    client: SQSClient
    inputs: SqsFifo
    timer_url: str

    def arrived(self) -> list[tuple[str, str]]:
        """Return group and body of what is on the input queue."""
        return [(one.record.group_id, one.record.body) for one in self.inputs.receive()]

    def waiting(self) -> list[dict[str, Any]]:
        """Return the timers that can be had from the timer queue now."""
        received = self.client.receive_message(QueueUrl=self.timer_url, MaxNumberOfMessages=10)
        return [json.loads(one["Body"]) for one in received.get("Messages", ())]


@pytest.fixture
def queues(aws_endpoint: str) -> Queues:
    client = sqs_client(aws_endpoint)
    return Queues(client, SqsFifoFactory(client).queue(), create_standard_queue(client))


@pytest.fixture
def environment(queues: Queues, aws_endpoint: str) -> Iterator[None]:
    """The variables of the deployed function, and a function that has not been called yet."""
    variables = {
        "INFINITY_INPUT_QUEUE_URL": queues.inputs.url,
        "INFINITY_TIMER_QUEUE_URL": queues.timer_url,
        "INFINITY_TIMER_DELAY_LIMIT_S": str(DELAY_LIMIT_S),
        "AWS_ENDPOINT_URL": aws_endpoint,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    with _variables(variables):
        timer_relay._relay.cache_clear()
        yield
        timer_relay._relay.cache_clear()


def timer(due_in_s: float, group_id: str = "thread-1", deduplication_id: str = "d1") -> str:
    due_ms = SystemClock().now_ms() + round(1000 * due_in_s)
    return timer_body(TravellingTimer(due_ms, f'{{"for":"{deduplication_id}"}}', group_id, deduplication_id))


def called(*bodies: str) -> list[str]:
    """Call the handler with these bodies as records r0, r1, … and return the records it reports as failed."""
    event = {"Records": [{"messageId": f"r{index}", "body": body} for index, body in enumerate(bodies)]}
    failures = timer_relay.handler(event, LambdaContext())["batchItemFailures"]
    return [failure["itemIdentifier"] for failure in failures]


@pytest.mark.usefixtures("environment")
def test_a_due_timer_goes_to_the_input_queue_in_its_group(queues: Queues) -> None:
    assert called(timer(-1, "thread-7")) == []

    assert queues.arrived() == [("thread-7", '{"for":"d1"}')]
    assert queues.waiting() == []


@pytest.mark.usefixtures("environment")
def test_a_timer_relayed_twice_is_one_message(queues: Queues) -> None:
    due = timer(-1)
    assert called(due, due) == []
    assert called(due) == []

    assert len(queues.arrived()) == 1


@pytest.mark.usefixtures("environment")
def test_an_early_timer_goes_back_to_the_timer_queue_for_no_longer_than_the_limit(queues: Queues) -> None:
    early = timer(3_600)
    assert called(early) == []

    assert queues.arrived() == []
    assert queues.waiting() == []
    SystemClock().sleep(DELAY_LIMIT_S + 0.3)
    assert queues.waiting() == [json.loads(early)]


@pytest.mark.usefixtures("environment")
def test_a_malformed_timer_is_reported_and_holds_up_no_other(queues: Queues) -> None:
    failed = called("not json", timer(-1), '{"due_ms": 1}')

    assert failed == ["r0", "r2"]
    assert queues.arrived() == [("thread-1", '{"for":"d1"}')]


@pytest.mark.usefixtures("environment")
def test_what_was_moved_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    called("not json", timer(-1), timer(-1, "thread-2", "d2"), timer(3_600))

    [counted] = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "_aws" in line]
    assert (counted["timers_delivered"], counted["timers_early"], counted["malformed_timers"]) == ([2.0], [1.0], [1.0])


def test_a_message_that_the_input_queue_refuses_is_reported_alone(queues: Queues) -> None:
    relay = TimerRelay(queues.client, queues.inputs.url, queues.timer_url, DELAY_LIMIT_S, SystemClock())

    result = relay.relay([TimerRecord("r0", timer(-1)), TimerRecord("r1", timer(-1, deduplication_id="d" * 1_100_000))])

    assert result.failed == ("r1",)
    assert len(queues.arrived()) == 1


def test_timers_come_back_when_the_input_queue_does_not_answer_and_early_ones_still_move(queues: Queues) -> None:
    clock = ManualClock(SystemClock().now_ms())
    relay = TimerRelay(queues.client, queues.inputs.url, queues.timer_url, DELAY_LIMIT_S, clock)
    Wire(queues.client).answer_next(*[error(500, "InternalError")] * 3)

    result = relay.relay([TimerRecord("r0", timer(-1)), TimerRecord("r1", timer(1))])

    assert result.failed == ("r0",)
    assert (result.delivered, result.put_back) == (0, 1)


def test_every_timer_of_a_batch_of_several_requests_is_told_apart(queues: Queues) -> None:
    relay = TimerRelay(queues.client, queues.inputs.url, queues.timer_url, DELAY_LIMIT_S, SystemClock())
    # A timer too large for the queue stands in the second request.
    records = [TimerRecord(f"r{number}", timer(-1, deduplication_id=f"d{number}")) for number in range(12)]
    records[11] = TimerRecord("r11", timer_body(TravellingTimer(0, "x" * 1_048_577, "thread-1", "d11")))

    result = relay.relay(records)

    assert result.failed == ("r11",)
    assert result.delivered == 11


@contextmanager
def _variables(given: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(given)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
