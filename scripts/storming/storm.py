"""The storm itself: who says what when, and which process dies when.

A process can be hit at every moment at which something passes between it and its services, and before or after any of
it: between two such moments nothing outside changes, so a death there is the same as one at either end.
"""

import math
import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scripts.commands.messages import TextMessage, send
from scripts.commands.target import Target
from scripts.offline_stack.interposers.interventions import Exchange, Stage
from scripts.offline_stack.interposers.watch import Kill, Watch

# The last texts are sent a little before the last kills.
SENDING_SHARE = 0.95
STAGES: Mapping[str, Sequence[Stage]] = {
    "read receipts": ("arrived", "passed on", "answered"),
    "load": ("arrived", "answered"),
    "complete": ("arrived", "passed on", "answered"),
    "commit": ("arrived", "answered"),
    "send outputs": ("arrived", "passed on", "answered"),
    "write receipts": ("arrived", "passed on", "answered"),
}
THE_END: tuple[str, Stage] = ("write receipts", "answered")
MOMENTS = [(step, stage) for step, stages in STAGES.items() for stage in stages]
# A slice shows some thirty stages, and a busy system several slices at once.
PATIENCE_STAGES = 100
# A message whose process dies five times while it is tried alone is taken for the cause, and withheld. So on a slow
# machine, where few slices come to an end in a second, deaths are fewer: none may seem to be the cause by chance.
SPARED_SLICES = 6
# Of the kills that were planned, so many must hit a slice that is running: 50 of 120. Those few more may miss.
ENOUGH_HITS = 50 / 120
SOME_MORE = 3
OVERTIME = 0.5


@dataclass(frozen=True, slots=True)
class Plan:
    """So many threads with so many messages each, within so many seconds. The seed fixes what is random about it.

    `spared` slices come to their end between two deaths.
    """

    threads: int
    messages: int
    duration_s: float
    kill_every_s: float
    seed: int
    spared: int = SPARED_SLICES

    @property
    def enough_hits(self) -> int:
        return math.ceil(self.duration_s / self.kill_every_s * ENOUGH_HITS)

    @property
    def thread_ids(self) -> list[str]:
        return [f"storm-{self.seed}-{number}" for number in range(self.threads)]

    def texts_of(self, thread_id: str) -> list[str]:
        """What its user says, in this order; each text is said once in the whole storm."""
        return [f"This is message {number} of {thread_id}." for number in range(self.messages)]

    def sendings(self) -> list[tuple[float, TextMessage]]:
        """All messages with the second in which each is sent, in order; a thread's are spread over the whole time."""
        chance = random.Random(self.seed)  # noqa: S311 - it only has to be different each time
        pace_s = SENDING_SHARE * self.duration_s / self.messages
        planned = [
            ((number + chance.random()) * pace_s, TextMessage(thread_id, text))
            for thread_id in self.thread_ids
            for number, text in enumerate(self.texts_of(thread_id))
        ]
        return sorted(planned, key=lambda sending: sending[0])


def say_everything(plan: Plan, target: Target, stopped: threading.Event) -> None:
    """Send every message at its time, or as soon after it as can be."""
    began_at = time.monotonic()
    for second, message in plan.sendings():
        stopped.wait(max(0.0, began_at + second - time.monotonic()))
        if stopped.is_set():
            return
        send(target.sqs, target.input_queue_url, message)


def kill_at_random(plan: Plan, watch: Watch) -> Iterator[Kill]:
    """Kill one process in every `kill_every_s`, wherever it is by then, until the time is over.

    In a second in which nothing passes by nobody can be seen to run, so nobody is killed. Where that was so often, as
    on a slow machine, it goes on for up to `OVERTIME` of the planned time.
    """
    chance = random.Random(plan.seed + 1)  # noqa: S311 - as above
    began_at = time.monotonic()
    killed = 0
    while (left_s := began_at + _duration_s(plan, killed) - time.monotonic()) > 0:
        next_at = time.monotonic() + min(plan.kill_every_s, left_s)
        trap = watch.set_trap(Ambush(chance.choice(MOMENTS), plan.spared))
        kill = trap.wait(left_s) or watch.lift(trap)
        if kill is not None:
            killed += 1
            yield kill
        time.sleep(max(0.0, next_at - time.monotonic()))


def _duration_s(plan: Plan, killed: int) -> float:
    return plan.duration_s * (1 + OVERTIME) if killed < plan.enough_hits + SOME_MORE else plan.duration_s


class Ambush:
    """Spares some slices until their ends, then strikes at one moment of a slice.

    When that moment does not come for long, it strikes at whatever comes then. To wait for one, and not for any,
    spreads the deaths over all of them: the first ones of a slice are seen much more often, since every process that
    starts anew shows them.
    """

    def __init__(self, moment: tuple[str, Stage], spared: int) -> None:
        self._moment = moment
        self._spared = spared
        self._patience = PATIENCE_STAGES

    def __call__(self, exchange: Exchange, stage: Stage) -> bool:
        seen = (exchange.what, stage)
        if self._spared > 0:
            self._spared -= seen == THE_END
            return False
        self._patience -= 1
        return seen == self._moment or self._patience < 0


def by_moment(kills: Sequence[Kill]) -> dict[str, int]:
    """How many processes died at which moment, the most frequent first."""
    moments = [f"{kill.exchange.what} {kill.stage}" for kill in kills]
    return {moment: moments.count(moment) for moment in sorted(set(moments), key=lambda each: -moments.count(each))}
