"""A FIFO queue with the rules of SQS in high-throughput mode, in memory, on a clock that is given.

One rule gives the order and the lock of a group: its messages are handed out from the front, up to the first one that
is in flight. Deduplication is per group and outlives the message. See `fifo_limits` for what is refused.
"""

import heapq
import itertools
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from threading import Condition

from runtime.adapters.memory.fifo_limits import Sending, check
from runtime.errors import Misconfigured
from runtime.ports import Clock, RawRecord

DEDUPLICATION_MS = 5 * 60 * 1000  # SQS: from the first acceptance, deleted or not
VISIBILITY_LIMIT_S = 12 * 60 * 60
RECEIVE_LIMIT = 10


@dataclass(frozen=True, slots=True)
class Received:
    """A message handed out, with its attributes."""

    record: RawRecord
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Redrive:
    """Where a message goes instead of being handed out once more than `max_receives` times."""

    dead_letters: "FifoQueue"
    max_receives: int


@dataclass(slots=True, eq=False)
class _Stored:
    """A message on the queue. Its newest handle is the only one that counts; before the first receive it is empty."""

    record_id: str
    sending: Sending
    sent_ms: int
    handle: str = ""
    receive_count: int = 0
    first_received_ms: int = 0
    visible_ms: int = 0

    def received(self) -> Received:
        sending = self.sending
        record = RawRecord(
            record_id=self.record_id,
            handle=self.handle,
            group_id=sending.group_id,
            body=sending.body,
            receive_count=self.receive_count,
            sent_ms=self.sent_ms,
            first_received_ms=self.first_received_ms,
        )
        return Received(record, sending.attributes)


class FifoQueue:
    """Safe to share between threads."""

    def __init__(self, clock: Clock, *, visibility_s: int = 30, redrive: Redrive | None = None) -> None:
        self._clock = clock
        self._visibility_s = visibility_s
        self._redrive = redrive
        self._recent = _RecentIds()
        self._groups = _Groups()
        self._in_flight: dict[str, _Stored] = {}
        # Counted over the queue: a message taken over keeps an id that one of the queue's own may have, too.
        self._handles = itertools.count(1)
        self._changed = Condition()

    def send(self, sending: Sending) -> str:
        """Accept a message and return its id; a repeat within five minutes is not queued again and gets the same id.

        Raises:
            Misconfigured: SQS would refuse it.
        """
        check(sending)
        now_ms = self._clock.now_ms()
        with self._changed:
            record_id, is_new = self._recent.name(sending, now_ms)
            if is_new:
                self._put(_Stored(record_id, sending, now_ms, visible_ms=now_ms))
            return record_id

    def take_over(self, record_id: str, sending: Sending) -> None:
        """Accept, as a dead-letter queue, a message under its old id. None is taken for a repeat."""
        now_ms = self._clock.now_ms()
        with self._changed:
            self._put(_Stored(record_id, sending, now_ms, visible_ms=now_ms))

    def receive(self, limit: int = RECEIVE_LIMIT, visibility_s: int | None = None) -> list[Received]:
        """Hand out up to `limit` messages, as many of one group as can be had before the next; never waits."""
        now_ms = self._clock.now_ms()
        visible_ms = now_ms + 1000 * (self._visibility_s if visibility_s is None else visibility_s)
        taken: list[_Stored] = []
        with self._changed:
            for group in self._groups.whose_turn_it_is(now_ms):
                for stored in self._takeable(group, now_ms, limit - len(taken)):
                    self._hand_out(stored, now_ms, visible_ms)
                    taken.append(stored)
                if len(taken) == limit:
                    break
            return [stored.received() for stored in taken]

    def delete(self, handle: str) -> bool:
        """Remove the message this handle holds; return whether it still held one."""
        with self._changed:
            stored = self._held(handle)
            if stored is None:
                return False
            self._remove(stored)
            return True

    def change_visibility(self, handle: str, visibility_s: int) -> bool:
        """Hide the message for this long from now on; return whether the handle still held one."""
        if not 0 <= visibility_s <= VISIBILITY_LIMIT_S:
            raise Misconfigured("a visibility timeout has 0 to 43,200 seconds")
        with self._changed:
            stored = self._held(handle)
            if stored is None:
                return False
            stored.visible_ms = self._clock.now_ms() + 1000 * visibility_s
            self._groups.reconsider(stored.sending.group_id)
            self._changed.notify()
            return True

    def wait(self, timeout_s: float) -> None:
        """Return when a message can be had, or may soon be, and at the latest after `timeout_s` of real time.

        A change wakes one of those who wait: there is one message for it, and it is theirs to look again.
        """
        with self._changed:
            # What came after the caller last looked has woken nobody.
            visible_ms = self._groups.next_visible_ms()
            if visible_ms is None or visible_ms > self._clock.now_ms():
                self._changed.wait(timeout_s)

    def next_visible_ms(self) -> int | None:
        """Return when the next message can be had, which may be in the past; None while the queue is empty."""
        with self._changed:
            return self._groups.next_visible_ms()

    def __len__(self) -> int:
        """Count all messages, those in flight included."""
        with self._changed:
            return self._groups.count()

    def _put(self, stored: _Stored) -> None:
        self._groups.append(stored)
        self._changed.notify()

    def _remove(self, stored: _Stored) -> None:
        self._in_flight.pop(stored.handle, None)
        if self._groups.remove(stored):
            self._changed.notify()

    def _takeable(self, group: deque[_Stored], now_ms: int, limit: int) -> list[_Stored]:
        """Return what may be handed out now, after moving away what was handed out too often."""
        front = list(itertools.takewhile(lambda stored: stored.visible_ms <= now_ms, group))
        redrive = self._redrive
        if redrive is None:
            return front[:limit]
        for stored in front:
            if stored.receive_count >= redrive.max_receives:
                self._remove(stored)
                redrive.dead_letters.take_over(stored.record_id, stored.sending)
        return [stored for stored in front if stored.receive_count < redrive.max_receives][:limit]

    def _hand_out(self, stored: _Stored, now_ms: int, visible_ms: int) -> None:
        self._in_flight.pop(stored.handle, None)
        stored.receive_count += 1
        stored.handle = f"{stored.record_id}/{next(self._handles)}"
        stored.first_received_ms = stored.first_received_ms or now_ms
        stored.visible_ms = visible_ms
        self._in_flight[stored.handle] = stored
        self._groups.reconsider(stored.sending.group_id)

    def _held(self, handle: str) -> _Stored | None:
        """Return the message of a handle, unless its time is over or the message was handed out again."""
        stored = self._in_flight.get(handle)
        return stored if stored is not None and stored.visible_ms > self._clock.now_ms() else None


class _RecentIds:
    """The names of what was accepted in the last five minutes."""

    def __init__(self) -> None:
        self._names: OrderedDict[tuple[str, str], tuple[str, int]] = OrderedDict()
        self._numbers = itertools.count(1)

    def name(self, sending: Sending, now_ms: int) -> tuple[str, bool]:
        """Return the id of this message and whether it is the first of its deduplication id in its group."""
        self._forget_old(now_ms)
        scope = (sending.group_id, sending.deduplication_id)
        known = self._names.get(scope)
        if known is not None:
            return known[0], False
        record_id = f"message-{next(self._numbers):08d}"
        self._names[scope] = (record_id, now_ms + DEDUPLICATION_MS)
        return record_id, True

    def _forget_old(self, now_ms: int) -> None:
        while self._names:
            scope, (_, until_ms) = next(iter(self._names.items()))
            if until_ms > now_ms:
                return
            del self._names[scope]


class _Groups:
    """The messages of each group in their order, and when the first of each can be had.

    A heap of turns makes the cost of a receive independent of how many groups wait. Turns that no longer hold are
    passed over when they come up, and swept out when they outnumber the groups.
    """

    def __init__(self) -> None:
        self._messages: dict[str, deque[_Stored]] = {}
        self._turns: list[tuple[int, int, str]] = []
        self._ticks = itertools.count()

    def append(self, stored: _Stored) -> None:
        group_id = stored.sending.group_id
        group = self._messages.setdefault(group_id, deque())
        group.append(stored)
        if len(group) == 1:
            self.reconsider(group_id)

    def remove(self, stored: _Stored) -> bool:
        """Take a message out and return whether its group has more."""
        group_id = stored.sending.group_id
        self._messages[group_id].remove(stored)
        if not self._messages[group_id]:
            del self._messages[group_id]
            return False
        self.reconsider(group_id)
        return True

    def reconsider(self, group_id: str) -> None:
        """Give the group a turn for when its first message can be had."""
        heapq.heappush(self._turns, (self._messages[group_id][0].visible_ms, next(self._ticks), group_id))
        if len(self._turns) > 2 * len(self._messages) + 64:
            self._turns = [
                (group[0].visible_ms, next(self._ticks), group_id) for group_id, group in self._messages.items()
            ]
            heapq.heapify(self._turns)

    def whose_turn_it_is(self, now_ms: int) -> Iterator[deque[_Stored]]:
        """Give groups whose first message can be had. Whoever takes one takes from it and reconsiders it."""
        while self._turns and self._turns[0][0] <= now_ms:
            _, _, group_id = heapq.heappop(self._turns)
            group = self._messages.get(group_id)
            if group and group[0].visible_ms <= now_ms:
                yield group

    def next_visible_ms(self) -> int | None:
        while self._turns:
            at_ms, _, group_id = self._turns[0]
            group = self._messages.get(group_id)
            if group and group[0].visible_ms == at_ms:
                return at_ms
            heapq.heappop(self._turns)
        return None

    def count(self) -> int:
        return sum(map(len, self._messages.values()))
