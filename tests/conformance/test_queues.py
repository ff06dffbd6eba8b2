"""Sending inputs and outputs, over FIFO queues in memory and over SQS."""

import json
from dataclasses import dataclass

import pytest

from runtime.adapters.aws.sqs import SqsQueues
from runtime.adapters.memory.clock import ManualClock
from runtime.adapters.memory.queues import MemoryQueues
from runtime.errors import RetryableError
from runtime.ports import Queues, RawRecord
from runtime.wire.messages import parse_message
from tests.conformance.fifo_driver import FifoDriver, MemoryFifoFactory, SqsFifoFactory
from tests.support.clients import sqs_client
from tests.support.samples import THREAD, keyring, output, result, text, wake


@dataclass(frozen=True, slots=True)
class Sender:
    """The port and the two queues behind it."""

    queues: Queues
    inputs: FifoDriver
    outputs: FifoDriver


@pytest.fixture(params=["memory", "sqs"])
def sender(request: pytest.FixtureRequest) -> Sender:
    clock = ManualClock()
    if request.param == "memory":
        factory = MemoryFifoFactory()
        memory_inputs, memory_outputs = factory.queue(), factory.queue()
        queues = MemoryQueues(memory_inputs.queue, memory_outputs.queue, keyring(), clock)
        return Sender(queues, memory_inputs, memory_outputs)
    client = sqs_client(request.getfixturevalue("aws_endpoint"))
    sqs = SqsFifoFactory(client)
    inputs, outputs = sqs.queue(), sqs.queue()
    return Sender(SqsQueues(client, inputs.url, outputs.url, keyring(), clock), inputs, outputs)


def drained(queue: FifoDriver) -> list[RawRecord]:
    """Take everything off a queue, in the order in which it is handed out."""
    records: list[RawRecord] = []
    while received := queue.receive():
        records += [one.record for one in received]
        for one in received:
            queue.delete(one.record.handle)
    return records


def test_a_message_of_ours_arrives_as_it_was_meant_and_is_known_to_be_ours(sender: Sender) -> None:
    sent = wake(version=3)
    sender.queues.send_inputs([sent])

    [record] = drained(sender.inputs)

    read = parse_message(record, keyring())
    assert (record.group_id, read.key, read.content) == (THREAD, sent.key, sent.content)


def test_inputs_arrive_in_the_order_of_sending_also_when_they_are_many(sender: Sender) -> None:
    sender.queues.send_inputs([wake(version) for version in range(25)])

    ids = [parse_message(record, keyring()).key.message_id for record in drained(sender.inputs)]

    assert ids == [f"wake:{THREAD}:{version}" for version in range(25)]


def test_a_message_sent_twice_is_delivered_once(sender: Sender) -> None:
    sender.queues.send_inputs([wake(version=3)])
    sender.queues.send_inputs([wake(version=3)])

    assert len(drained(sender.inputs)) == 1


def test_a_result_with_another_body_is_delivered_too(sender: Sender) -> None:
    sender.queues.send_inputs([result("call_1", "done"), result("call_1", "done otherwise")])

    assert len(drained(sender.inputs)) == 2


def test_the_same_message_for_two_threads_is_delivered_to_both(sender: Sender) -> None:
    sender.queues.send_inputs([text("hello", "user:1", "thread-1"), text("hello", "user:1", "thread-2")])

    assert sorted(record.group_id for record in drained(sender.inputs)) == ["thread-1", "thread-2"]


def test_content_beyond_ascii_and_control_characters_pass_the_queue_unchanged(sender: Sender) -> None:
    sent = result("call_1", "größer\x0b\x1f\uffff 😀")
    sender.queues.send_inputs([sent])

    [record] = drained(sender.inputs)

    assert record.body.isascii()
    assert parse_message(record, keyring()).content == sent.content


def test_outputs_arrive_in_the_order_of_sending_in_the_group_of_the_root(sender: Sender) -> None:
    sender.queues.send_outputs([output(f"id-{number}", root_id="root-1", seq=number) for number in range(12)])

    records = drained(sender.outputs)

    assert [json.loads(record.body)["seq"] for record in records] == list(range(12))
    assert {record.group_id for record in records} == {"root-1"}


def test_an_output_sent_twice_is_delivered_once(sender: Sender) -> None:
    sender.queues.send_outputs([output("id-1")])
    sender.queues.send_outputs([output("id-1"), output("id-2")])

    assert [json.loads(record.body)["id"] for record in drained(sender.outputs)] == ["id-1", "id-2"]


def test_outputs_that_are_too_large_for_one_request_together_arrive_all(sender: Sender) -> None:
    sender.queues.send_outputs([output(f"id-{number}", "x" * 400_000, seq=number) for number in range(5)])

    assert [json.loads(record.body)["seq"] for record in drained(sender.outputs)] == list(range(5))


def test_an_output_that_fits_no_message_is_an_error_and_not_a_loss(sender: Sender) -> None:
    with pytest.raises(RetryableError):
        sender.queues.send_outputs([output("id-1", "x" * 1_100_000)])


def test_sending_nothing_is_harmless(sender: Sender) -> None:
    sender.queues.send_inputs([])
    sender.queues.send_outputs([])

    assert drained(sender.inputs) == []
    assert drained(sender.outputs) == []
