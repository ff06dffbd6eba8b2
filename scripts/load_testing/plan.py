"""What a load test says: so many threads, so many messages in each, and when each message is due. Pure.

Every message has a code, and its text asks for that code: so an answer names what it answers, whoever gives it. The
scripted model of the offline stack quotes what it is told; a real one does as it is asked.
"""

import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from scripts.commands.messages import TextMessage

# Lambda's limit for MaximumConcurrency of an event source: more threads could not be at work at once.
MOST_THREADS = 1_000
# Each turn shows the model the whole conversation: longer ones measure how long it reads, at a rising price.
MOST_MESSAGES = 100
# Each is a completion that somebody pays for.
MOST_IN_ALL = 10_000
# What one process sends in batches of ten, one after the other, over a connection of 20 ms.
MOST_PER_S = 500.0

CODE = re.compile(r"load-[0-9a-f]{8}-\d{4}-\d{4}")
# The scripted model quotes 120 characters of a text, and the code stands first.
WORDS = "Load test. Reply with the codes of all messages you have not answered yet, nothing else."


class PlanError(Exception):
    """There is no such test. The message says which bound it breaks, and why there is one."""


@dataclass(frozen=True, slots=True)
class Saying:
    """One message: the `number`-th of its thread, counted from 0."""

    thread_id: str
    number: int

    @property
    def code(self) -> str:
        return f"{self.thread_id}-{self.number:04d}"

    @property
    def message(self) -> TextMessage:
        """The message under an id of its own: sent again, it is answered once."""
        return TextMessage(self.thread_id, f"{self.code}: {WORDS}", message_id=self.code)


@dataclass(frozen=True, slots=True)
class Plan:
    """So many messages in each of so many threads, which no other run has.

    Without a `rate_per_s` a thread's next message follows the answer to the one before; with one they come at that
    rate, all threads together, whatever is answered. `interrupts`: each second message of a thread does not wait for
    an answer, but is sent while the one before is at work.
    """

    threads: int
    messages: int
    rate_per_s: float | None = None
    interrupts: bool = False
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    def __post_init__(self) -> None:
        for broken in _broken_bounds(self):
            raise PlanError(broken)

    @property
    def in_all(self) -> int:
        return self.threads * self.messages

    @property
    def thread_ids(self) -> list[str]:
        return [f"load-{self.run_id}-{number:04d}" for number in range(self.threads)]

    def sayings_of(self, thread_id: str) -> list[Saying]:
        """All that is said in a thread, in this order."""
        return [Saying(thread_id, number) for number in range(self.messages)]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a thread has got. `sent_at` is when its newest message was sent; `is_over`: it will not answer any more.

    Times are seconds since the beginning.
    """

    sent: int = 0
    answered: int = 0
    sent_at: float = 0.0
    is_over: bool = False


def due(plan: Plan, progress: Mapping[str, Progress], now_s: float, lead_s: float) -> list[Saying]:
    """Say what is to be sent now: at most one message of each thread, or one that fails could be overtaken.

    `lead_s` is how long a message is left at work before another one interrupts it.
    """
    return [
        Saying(thread_id, progress[thread_id].sent)
        for place, thread_id in enumerate(plan.thread_ids)
        if _has_next(plan, progress[thread_id]) and _is_due(plan, place, progress[thread_id], now_s, lead_s)
    ]


def is_finished(plan: Plan, progress: Mapping[str, Progress]) -> bool:
    """Whether there is nothing left to be sent or waited for."""
    return all(each.is_over or each.answered == plan.messages for each in progress.values())


def _has_next(plan: Plan, thread: Progress) -> bool:
    return thread.sent < plan.messages and not thread.is_over


def _is_due(plan: Plan, place: int, thread: Progress, now_s: float, lead_s: float) -> bool:
    if plan.rate_per_s is not None:
        return (thread.sent * plan.threads + place) / plan.rate_per_s <= now_s
    if plan.interrupts and thread.sent % 2 == 1:
        return thread.sent == thread.answered or thread.sent_at + lead_s <= now_s
    return thread.sent == thread.answered


def _broken_bounds(plan: Plan) -> Iterator[str]:
    if plan.threads < 1 or plan.messages < 1:
        yield "a load test needs at least one thread and one message"
    if plan.threads > MOST_THREADS:
        yield f"{plan.threads:,} threads: at most {MOST_THREADS:,}, since Lambda serves no more of a queue at once"
    if plan.messages > MOST_MESSAGES:
        yield (
            f"{plan.messages:,} messages per thread: at most {MOST_MESSAGES}, since each turn shows the model the whole"
            " conversation; take more threads"
        )
    if plan.in_all > MOST_IN_ALL:
        yield f"{plan.in_all:,} messages in all: at most {MOST_IN_ALL:,}, since each is a completion that is paid for"
    if plan.rate_per_s is not None:
        yield from _broken_bounds_of_rate(plan, plan.rate_per_s)


def _broken_bounds_of_rate(plan: Plan, rate_per_s: float) -> Iterator[str]:
    if not 0 < rate_per_s <= MOST_PER_S:
        yield f"{rate_per_s:g} messages per second: more than 0 and at most {MOST_PER_S:g}, as one process can send"
    if plan.interrupts:
        yield "at a rate, messages come whatever is answered: leave out either --rate or --interrupts"
