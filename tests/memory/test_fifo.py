"""Rules of SQS that our queue keeps and the emulator does not, and what only a clock of ours can show."""

import time

import pytest

from runtime.adapters.memory.clock import ManualClock
from runtime.adapters.memory.fifo import FifoQueue, Received, Redrive
from runtime.adapters.memory.fifo_limits import MESSAGE_LIMIT_BYTES, Sending
from runtime.errors import Misconfigured


def send(queue: FifoQueue, group_id: str, *bodies: str) -> None:
    for body in bodies:
        queue.send(Sending(group_id, f"id-of-{body}", body))


def bodies(received: list[Received]) -> list[str]:
    return [one.record.body for one in received]


def handle(received: Received) -> str:
    return received.record.handle


def test_a_repeat_within_five_minutes_is_swallowed_and_one_after_them_is_delivered() -> None:
    clock = ManualClock()
    queue = FifoQueue(clock)
    first_id = queue.send(Sending("A", "d1", "hello"))
    queue.delete(handle(queue.receive()[0]))

    clock.advance(299)
    assert queue.send(Sending("A", "d1", "hello")) == first_id
    assert queue.receive() == []

    clock.advance(1)
    assert queue.send(Sending("A", "d1", "hello")) != first_id
    assert bodies(queue.receive()) == ["hello"]


def test_a_repeat_does_not_prolong_the_five_minutes() -> None:
    clock = ManualClock()
    queue = FifoQueue(clock)
    queue.send(Sending("A", "d1", "hello"))
    clock.advance(200)
    queue.send(Sending("A", "d1", "hello"))

    clock.advance(100)
    queue.send(Sending("A", "d1", "hello"))

    assert len(queue) == 2


def test_messages_up_to_one_in_flight_are_handed_out_and_none_after_it() -> None:
    queue = FifoQueue(ManualClock())
    send(queue, "A", "a0", "a1", "a2")
    first, _second, third = queue.receive()

    queue.change_visibility(handle(first), 0)
    queue.change_visibility(handle(third), 0)

    assert bodies(queue.receive()) == ["a0"]


def test_a_handle_whose_time_is_over_deletes_nothing_even_before_a_redelivery() -> None:
    clock = ManualClock()
    queue = FifoQueue(clock, visibility_s=30)
    send(queue, "A", "a0")
    [late] = queue.receive()
    clock.advance(30)

    assert not queue.delete(handle(late))
    assert not queue.change_visibility(handle(late), 60)
    assert bodies(queue.receive()) == ["a0"]


def test_a_visibility_given_with_a_receive_overrides_the_queues() -> None:
    clock = ManualClock()
    queue = FifoQueue(clock, visibility_s=30)
    send(queue, "A", "a0")
    queue.receive(visibility_s=300)

    clock.advance(31)

    assert queue.receive() == []


def test_a_visibility_of_more_than_twelve_hours_is_refused() -> None:
    queue = FifoQueue(ManualClock())
    send(queue, "A", "a0")
    [received] = queue.receive()

    with pytest.raises(Misconfigured):
        queue.change_visibility(handle(received), 43_201)


def test_a_dead_letter_keeps_its_id_and_its_attributes() -> None:
    clock = ManualClock()
    dead_letters = FifoQueue(clock)
    queue = FifoQueue(clock, visibility_s=1, redrive=Redrive(dead_letters, max_receives=1))
    record_id = queue.send(Sending("A", "d1", "hello", {"reason": "tried"}))
    queue.receive()
    clock.advance(1)

    assert queue.receive() == []
    [dead] = dead_letters.receive()
    assert (dead.record.record_id, dead.attributes) == (record_id, {"reason": "tried"})
    assert len(queue) == 0


def test_a_worn_out_message_behind_a_fresh_one_is_never_handed_out_once_more() -> None:
    clock = ManualClock()
    dead_letters = FifoQueue(clock)
    queue = FifoQueue(clock, redrive=Redrive(dead_letters, max_receives=2))
    send(queue, "A", "a0", "a1")
    for _ in range(2):
        for one in queue.receive():
            queue.change_visibility(handle(one), 0)

    assert queue.receive() == []
    assert bodies(dead_letters.receive()) == ["a0", "a1"]


def test_the_next_visible_time_is_that_of_the_first_message_that_can_be_had() -> None:
    clock = ManualClock(start_ms=1_000_000)
    queue = FifoQueue(clock, visibility_s=30)
    assert queue.next_visible_ms() is None

    send(queue, "A", "a0")
    send(queue, "B", "b0")
    assert queue.next_visible_ms() == 1_000_000

    queue.receive(1)
    [second] = queue.receive(1)
    assert queue.next_visible_ms() == 1_030_000

    queue.change_visibility(handle(second), 5)
    assert queue.next_visible_ms() == 1_005_000


@pytest.mark.parametrize("group_id", ["", "x" * 129, "with space", "é", "line\n"])
def test_a_group_id_that_is_not_1_to_128_letters_digits_or_punctuation_is_refused(group_id: str) -> None:
    with pytest.raises(Misconfigured):
        FifoQueue(ManualClock()).send(Sending(group_id, "d1", "hello"))


@pytest.mark.parametrize("deduplication_id", ["", "x" * 129, "with space", "é", "line\n"])
def test_a_deduplication_id_that_is_not_1_to_128_letters_digits_or_punctuation_is_refused(
    deduplication_id: str,
) -> None:
    with pytest.raises(Misconfigured):
        FifoQueue(ManualClock()).send(Sending("A", deduplication_id, "hello"))


@pytest.mark.parametrize("body", ["\x0b", "\ud800", "\ufffe", "\uffff"])
def test_characters_that_xml_does_not_know_are_refused(body: str) -> None:
    with pytest.raises(Misconfigured):
        FifoQueue(ManualClock()).send(Sending("A", "d1", body))


@pytest.mark.parametrize("body", ["\t\n\r ", "ü", "\ud7ff\ue000\ufffd", "\U0001f600"])
def test_all_other_characters_are_taken(body: str) -> None:
    queue = FifoQueue(ManualClock())
    queue.send(Sending("A", "d1", body))

    assert bodies(queue.receive()) == [body]


def test_attributes_and_bytes_beyond_ascii_count_towards_the_limit() -> None:
    queue = FifoQueue(ManualClock())
    attributes = {"reason": "late"}
    room_bytes = MESSAGE_LIMIT_BYTES - len("reason" + "String" + "late")
    queue.send(Sending("A", "d1", "ü" * (room_bytes // 2), attributes))

    with pytest.raises(Misconfigured):
        queue.send(Sending("A", "d2", "ü" * (room_bytes // 2 + 1), attributes))


def test_the_cost_of_a_message_does_not_grow_with_the_number_of_waiting_groups() -> None:
    few, many = _seconds_for(groups=20, messages=2_000), _seconds_for(groups=2_000, messages=2_000)

    # A scan over the groups would make it a hundredfold.
    assert many < 10 * few


def _seconds_for(groups: int, messages: int) -> float:
    queue = FifoQueue(ManualClock())
    started_s = time.process_time()
    for number in range(messages):
        queue.send(Sending(f"group-{number % groups}", str(number), "hello"))
    while received := queue.receive(1):
        queue.delete(handle(received[0]))
    return time.process_time() - started_s


def test_a_dead_letter_and_a_message_of_the_same_id_can_both_be_deleted() -> None:
    clock = ManualClock()
    dead_letters = FifoQueue(clock)
    queue = FifoQueue(clock, visibility_s=1, redrive=Redrive(dead_letters, max_receives=1))
    taken_over_id = queue.send(Sending("A", "d1", "died"))
    queue.receive()
    clock.advance(2)
    queue.receive()

    assert dead_letters.send(Sending("A", "d2", "parked")) == taken_over_id
    for received in dead_letters.receive():
        assert dead_letters.delete(handle(received))
    assert len(dead_letters) == 0
