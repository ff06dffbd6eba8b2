"""The queue between threads: waiting for it, and many who take from it at once."""

import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, Timer

from runtime.adapters.clock import SystemClock
from runtime.adapters.memory.clock import ManualClock
from runtime.adapters.memory.fifo import FifoQueue
from runtime.adapters.memory.fifo_limits import Sending

LONG_S = 20.0
# Long enough for the other side to be waiting when it happens.
MEANWHILE_S = 0.1
SOON_S = 5.0


def seconds_of_waiting(queue: FifoQueue, timeout_s: float) -> float:
    started_s = time.monotonic()
    queue.wait(timeout_s)
    return time.monotonic() - started_s


def test_nobody_waits_for_a_message_that_is_there() -> None:
    queue = FifoQueue(ManualClock())
    queue.send(Sending("A", "d1", "hello"))

    assert seconds_of_waiting(queue, LONG_S) < SOON_S


def test_a_wait_for_an_empty_queue_ends_with_its_time() -> None:
    assert 0.01 <= seconds_of_waiting(FifoQueue(ManualClock()), 0.02) < SOON_S


def test_a_message_in_flight_is_not_there_to_be_had() -> None:
    queue = FifoQueue(ManualClock())
    queue.send(Sending("A", "d1", "hello"))
    queue.receive()

    assert seconds_of_waiting(queue, 0.02) >= 0.01


def test_a_wait_ends_when_a_message_is_sent() -> None:
    queue = FifoQueue(ManualClock())
    sender = Timer(MEANWHILE_S, queue.send, args=(Sending("A", "d1", "hello"),))
    sender.start()

    assert seconds_of_waiting(queue, LONG_S) < SOON_S
    sender.join()


def test_a_wait_ends_when_a_message_is_given_back_or_the_one_before_it_is_deleted() -> None:
    queue = FifoQueue(ManualClock())
    for number in range(2):
        queue.send(Sending("A", f"d{number}", "hello"))
    [first] = queue.receive(1)
    deleter = Timer(MEANWHILE_S, queue.delete, args=(first.record.handle,))
    deleter.start()
    assert seconds_of_waiting(queue, LONG_S) < SOON_S
    deleter.join()

    [second] = queue.receive(1)
    giver = Timer(MEANWHILE_S, queue.change_visibility, args=(second.record.handle, 0))
    giver.start()
    assert seconds_of_waiting(queue, LONG_S) < SOON_S
    giver.join()


class Takers:
    """What several threads have taken, and whether two ever had messages of one group at the same time."""

    def __init__(self, queue: FifoQueue, expected: int) -> None:
        self.seen: dict[str, list[int]] = defaultdict(list)
        self.broken_locks: set[str] = set()
        self._queue = queue
        self._left = expected
        self._open: set[str] = set()
        self._guard = Lock()

    def take_all(self) -> None:
        until_s = time.monotonic() + LONG_S
        while self._left and time.monotonic() < until_s:
            received = self._queue.receive(3)
            groups = {one.record.group_id for one in received}
            self._begin(groups)
            for one in received:
                self.seen[one.record.group_id].append(int(one.record.body))
            self._end(groups, len(received))
            for one in received:
                self._queue.delete(one.record.handle)
            self._queue.wait(0.01)

    def _begin(self, groups: set[str]) -> None:
        with self._guard:
            self.broken_locks |= groups & self._open
            self._open |= groups

    def _end(self, groups: set[str], count: int) -> None:
        with self._guard:
            self._open -= groups
            self._left -= count


def test_many_threads_take_every_message_once_in_the_order_of_its_group() -> None:
    queue = FifoQueue(SystemClock())
    takers = Takers(queue, expected=800)

    def send(group: int) -> None:
        for number in range(100):
            queue.send(Sending(f"group-{group}", f"d{number}", str(number)))

    with ThreadPoolExecutor(12) as pool:
        acts = [pool.submit(send, group) for group in range(8)] + [pool.submit(takers.take_all) for _ in range(4)]
        for act in acts:
            act.result()

    assert takers.broken_locks == set()
    assert takers.seen == {f"group-{group}": list(range(100)) for group in range(8)}
