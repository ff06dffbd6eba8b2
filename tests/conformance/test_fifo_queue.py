"""The rules of a FIFO queue on which the slice rests, for our queue in memory and for SQS."""

import pytest

from runtime.adapters.memory.fifo import Received
from runtime.adapters.memory.fifo_limits import MESSAGE_LIMIT_BYTES, Sending
from tests.conformance.fifo_driver import FifoDriver, FifoFactory, MemoryFifoFactory, Refused, SqsFifoFactory
from tests.support.clients import sqs_client


@pytest.fixture(params=["memory", "sqs"])
def factory(request: pytest.FixtureRequest) -> FifoFactory:
    if request.param == "memory":
        return MemoryFifoFactory()
    return SqsFifoFactory(sqs_client(request.getfixturevalue("aws_endpoint")))


def send(queue: FifoDriver, group_id: str, *bodies: str) -> None:
    for body in bodies:
        queue.send(Sending(group_id, f"id-of-{body}", body))


def bodies(received: list[Received]) -> list[str]:
    return [one.record.body for one in received]


def handle(received: Received) -> str:
    return received.record.handle


def test_a_group_is_handed_out_in_the_order_of_sending(factory: FifoFactory) -> None:
    queue = factory.queue()
    send(queue, "A", "a0", "a1", "a2")

    assert bodies(queue.receive()) == ["a0", "a1", "a2"]


def test_a_group_is_locked_while_one_of_its_messages_is_in_flight(factory: FifoFactory) -> None:
    queue = factory.queue()
    send(queue, "A", "a0", "a1", "a2")
    send(queue, "B", "b0")

    [first] = queue.receive(1)

    assert first.record.body == "a0"
    assert bodies(queue.receive()) == ["b0"]
    assert queue.receive() == []
    queue.delete(handle(first))
    assert bodies(queue.receive()) == ["a1", "a2"]


def test_a_group_is_locked_until_the_last_message_of_a_batch_is_deleted(factory: FifoFactory) -> None:
    queue = factory.queue()
    send(queue, "A", "a0", "a1", "a2")
    first, second = queue.receive(2)

    queue.delete(handle(first))

    assert queue.receive() == []
    queue.delete(handle(second))
    assert bodies(queue.receive()) == ["a2"]


def test_one_receive_may_bring_messages_of_several_groups(factory: FifoFactory) -> None:
    queue = factory.queue()
    send(queue, "A", "a0")
    send(queue, "B", "b0")
    send(queue, "C", "c0")

    assert sorted(bodies(queue.receive())) == ["a0", "b0", "c0"]


def test_a_receive_brings_no_more_than_it_is_asked_for(factory: FifoFactory) -> None:
    queue = factory.queue()
    send(queue, "A", *(f"a{number}" for number in range(4)))
    send(queue, "B", *(f"b{number}" for number in range(4)))

    assert len(queue.receive(5)) == 5


def test_what_was_not_deleted_comes_again_in_order_once_its_time_is_over(factory: FifoFactory) -> None:
    queue = factory.queue(visibility_s=1)
    send(queue, "A", "a0", "a1")
    [first] = queue.receive(1)

    queue.wait(1.2)
    again = queue.receive()

    assert bodies(again) == ["a0", "a1"]
    assert [one.record.receive_count for one in again] == [2, 1]
    assert again[0].record.record_id == first.record.record_id


def test_the_times_of_a_record_are_of_its_sending_and_of_its_first_receive(factory: FifoFactory) -> None:
    queue = factory.queue(visibility_s=1)
    before_ms = queue.now_ms()
    send(queue, "A", "a0")
    [first] = queue.receive()
    after_ms = queue.now_ms()

    queue.wait(1.2)
    [again] = queue.receive()

    assert before_ms <= first.record.sent_ms <= first.record.first_received_ms <= after_ms
    assert again.record.sent_ms == first.record.sent_ms
    assert again.record.first_received_ms == first.record.first_received_ms


def test_a_handle_from_before_a_redelivery_deletes_nothing(factory: FifoFactory) -> None:
    queue = factory.queue(visibility_s=1)
    send(queue, "A", "a0")
    [stale] = queue.receive()
    queue.wait(1.2)
    queue.receive()

    queue.delete(handle(stale))

    queue.wait(1.2)
    assert bodies(queue.receive()) == ["a0"]


def test_a_handle_from_before_a_redelivery_changes_no_visibility(factory: FifoFactory) -> None:
    queue = factory.queue(visibility_s=1)
    send(queue, "A", "a0")
    [stale] = queue.receive()
    queue.wait(1.2)
    queue.receive()

    queue.change_visibility(handle(stale), 0)

    assert queue.receive() == []


def test_visibility_zero_gives_a_message_back_at_once(factory: FifoFactory) -> None:
    queue = factory.queue()
    send(queue, "A", "a0")
    [first] = queue.receive()

    queue.change_visibility(handle(first), 0)

    assert bodies(queue.receive()) == ["a0"]


def test_a_message_given_back_waits_for_the_one_before_it(factory: FifoFactory) -> None:
    queue = factory.queue()
    send(queue, "A", "a0", "a1", "a2")
    first, second = queue.receive(2)

    queue.change_visibility(handle(second), 0)

    assert queue.receive() == []
    queue.change_visibility(handle(first), 0)
    assert bodies(queue.receive()) == ["a0", "a1", "a2"]


def test_the_same_new_visibility_keeps_the_order_of_a_group(factory: FifoFactory) -> None:
    queue = factory.queue()
    send(queue, "A", "a0", "a1")
    for one in queue.receive():
        queue.change_visibility(handle(one), 1)

    assert queue.receive() == []
    queue.wait(1.2)
    assert bodies(queue.receive()) == ["a0", "a1"]


def test_a_repeat_is_accepted_and_not_delivered_again_also_after_its_deletion(factory: FifoFactory) -> None:
    queue = factory.queue()
    first_id = queue.send(Sending("A", "d1", "hello"))
    [received] = queue.receive()
    queue.delete(handle(received))

    repeated_id = queue.send(Sending("A", "d1", "hello"))

    assert repeated_id == first_id
    assert queue.receive() == []


def test_one_deduplication_id_shared_by_two_groups_delivers_both(factory: FifoFactory) -> None:
    queue = factory.queue()
    queue.send(Sending("A", "d1", "to A"))
    queue.send(Sending("B", "d1", "to B"))

    assert sorted(bodies(queue.receive())) == ["to A", "to B"]


def test_two_equal_bodies_with_different_ids_are_two_messages(factory: FifoFactory) -> None:
    queue = factory.queue()
    queue.send(Sending("A", "d1", "yes"))
    queue.send(Sending("A", "d2", "yes"))

    assert bodies(queue.receive()) == ["yes", "yes"]


def test_a_message_received_too_often_goes_to_the_dead_letter_queue_and_the_next_one_follows(
    factory: FifoFactory,
) -> None:
    made = factory.with_dead_letters(visibility_s=1, max_receives=2)
    send(made.queue, "A", "a0", "a1")
    counts = []
    for _ in range(2):
        [received] = made.queue.receive(1)
        counts.append(received.record.receive_count)
        made.queue.wait(1.2)

    assert counts == [1, 2]
    assert bodies(made.queue.receive(1)) == ["a1"]
    [dead] = made.dead_letters.receive()
    assert (dead.record.body, dead.record.group_id) == ("a0", "A")


def test_attributes_arrive_as_they_were_sent(factory: FifoFactory) -> None:
    queue = factory.queue()
    queue.send(Sending("A", "d1", "hello", {"reason": "group_id is missing"}))

    [received] = queue.receive()

    assert received.attributes == {"reason": "group_id is missing"}


def test_a_delay_of_a_single_message_is_refused(factory: FifoFactory) -> None:
    with pytest.raises(Refused):
        factory.queue().send(Sending("A", "d1", "hello", delay_s=5))


def test_a_body_of_one_mebibyte_is_taken_and_one_byte_more_is_refused(factory: FifoFactory) -> None:
    queue = factory.queue()
    queue.send(Sending("A", "d1", "x" * MESSAGE_LIMIT_BYTES))

    with pytest.raises(Refused):
        queue.send(Sending("A", "d2", "x" * (MESSAGE_LIMIT_BYTES + 1)))


@pytest.mark.parametrize("body", ["", "a\x00b", "a\x01b"], ids=["empty", "NUL", "control character"])
def test_a_body_that_is_empty_or_holds_control_characters_is_refused(factory: FifoFactory, body: str) -> None:
    with pytest.raises(Refused):
        factory.queue().send(Sending("A", "d1", body))


def test_a_group_id_of_128_characters_with_punctuation_is_taken(factory: FifoFactory) -> None:
    queue = factory.queue()
    group_id = "a:b/c#d|" * 16

    queue.send(Sending(group_id, "d1", "hello"))

    assert queue.receive()[0].record.group_id == group_id
