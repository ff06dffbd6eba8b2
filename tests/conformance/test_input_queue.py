"""Postponing and parking what was delivered, over FIFO queues in memory and over SQS."""

from dataclasses import dataclass, replace

import pytest

from runtime.adapters.aws.sqs import SqsInputQueue
from runtime.adapters.memory.clock import ManualClock
from runtime.adapters.memory.fifo_limits import MESSAGE_LIMIT_BYTES, Sending
from runtime.adapters.memory.queues import MemoryInputQueue
from runtime.ports import InputQueue, RawRecord
from tests.conformance.fifo_driver import FifoDriver, MemoryFifoFactory, SqsFifoFactory
from tests.support.clients import sqs_client


@dataclass(frozen=True, slots=True)
class Receiver:
    """The port, the queue it speaks of, and the one for what can never be handled."""

    port: InputQueue
    inputs: FifoDriver
    dead_letters: FifoDriver


@pytest.fixture(params=["memory", "sqs"])
def receiver(request: pytest.FixtureRequest) -> Receiver:
    if request.param == "memory":
        factory = MemoryFifoFactory()
        memory_inputs, memory_dead = factory.queue(), factory.queue()
        return Receiver(MemoryInputQueue(memory_inputs.queue, memory_dead.queue), memory_inputs, memory_dead)
    client = sqs_client(request.getfixturevalue("aws_endpoint"))
    sqs = SqsFifoFactory(client)
    inputs, dead_letters = sqs.queue(), sqs.queue()
    return Receiver(SqsInputQueue(client, inputs.url, dead_letters.url, ManualClock()), inputs, dead_letters)


def received(receiver: Receiver, *bodies: str) -> list[RawRecord]:
    """Send these to one group and receive what can be had."""
    for number, body in enumerate(bodies):
        receiver.inputs.send(Sending("A", f"d{number}", body))
    return [one.record for one in receiver.inputs.receive()]


def bodies_of_next_receive(queue: FifoDriver) -> list[str]:
    return [one.record.body for one in queue.receive()]


def test_a_group_postponed_by_zero_comes_again_at_once_in_its_order(receiver: Receiver) -> None:
    records = received(receiver, "a0", "a1", "a2")

    receiver.port.postpone([record.handle for record in records], 0)

    assert bodies_of_next_receive(receiver.inputs) == ["a0", "a1", "a2"]


def test_a_postponed_group_comes_again_after_its_time_and_not_before(receiver: Receiver) -> None:
    records = received(receiver, "a0", "a1")

    receiver.port.postpone([record.handle for record in records], 1)

    assert bodies_of_next_receive(receiver.inputs) == []
    receiver.inputs.wait(1.2)
    assert bodies_of_next_receive(receiver.inputs) == ["a0", "a1"]


def test_visibility_can_be_extended(receiver: Receiver) -> None:
    [record] = received(receiver, "a0")
    receiver.port.postpone([record.handle], 1)

    receiver.port.postpone([record.handle], 60)

    receiver.inputs.wait(1.2)
    assert bodies_of_next_receive(receiver.inputs) == []


def test_a_handle_that_is_no_longer_ours_is_passed_over_and_the_others_are_postponed(receiver: Receiver) -> None:
    first, second = received(receiver, "a0", "a1")
    receiver.inputs.delete(first.handle)

    receiver.port.postpone([first.handle, second.handle], 0)

    assert bodies_of_next_receive(receiver.inputs) == ["a1"]


def test_the_record_of_another_receiver_is_left_to_them(receiver: Receiver) -> None:
    [ours] = received(receiver, "a0")
    receiver.inputs.change_visibility(ours.handle, 0)
    [theirs] = receiver.inputs.receive()

    receiver.port.postpone([ours.handle], 0)

    assert theirs.record.handle != ours.handle
    assert bodies_of_next_receive(receiver.inputs) == []


def test_more_records_than_one_request_takes_are_postponed(receiver: Receiver) -> None:
    for group in range(12):
        receiver.inputs.send(Sending(f"group-{group}", "d1", f"body-{group}"))
    records = [one.record for one in receiver.inputs.receive() + receiver.inputs.receive()]
    assert len(records) == 12

    receiver.port.postpone([record.handle for record in records], 0)

    again = [*bodies_of_next_receive(receiver.inputs), *bodies_of_next_receive(receiver.inputs)]
    assert len(again) == 12


def test_postponing_nothing_is_harmless(receiver: Receiver) -> None:
    receiver.port.postpone([], 0)


def test_a_parked_record_stands_on_the_dead_letter_queue_with_its_reason(receiver: Receiver) -> None:
    [record] = received(receiver, "not what we read")

    receiver.port.park(record, "group_id is missing")

    [parked] = receiver.dead_letters.receive()
    assert (parked.record.body, parked.record.group_id) == ("not what we read", "A")
    assert parked.attributes == {"reason": "group_id is missing"}


def test_a_record_parked_again_after_a_crash_is_parked_once(receiver: Receiver) -> None:
    [record] = received(receiver, "not what we read")
    receiver.port.park(record, "group_id is missing")

    receiver.port.park(replace(record, receive_count=2, handle="another"), "group_id is missing")

    assert len(receiver.dead_letters.receive()) == 1


def test_two_records_with_the_same_body_are_both_parked(receiver: Receiver) -> None:
    first, second = received(receiver, "same", "other")

    receiver.port.park(first, "reason")
    receiver.port.park(replace(second, body=first.body), "reason")

    assert len(receiver.dead_letters.receive()) == 2


def test_a_body_that_leaves_no_room_for_the_reason_is_parked_all_the_same(receiver: Receiver) -> None:
    [record] = received(receiver, "x" * MESSAGE_LIMIT_BYTES)

    receiver.port.park(record, "group_id is missing")

    [parked] = receiver.dead_letters.receive()
    assert parked.record.body == record.body
