"""The figures of a load test, from its ledger and from what the deployment itself tells. Pure."""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

from scripts.load_testing.ledger import Fate, Ledger, Tally

Interval: TypeAlias = tuple[float, float]
# More threads that do not get so much more done are no gain.
LEAST_GAIN = 1.1


@dataclass(frozen=True, slots=True)
class Spread:
    """Seconds. Percentiles between two measured values are interpolated."""

    p50: float
    p95: float
    p99: float
    most: float


@dataclass(frozen=True, slots=True)
class AtOnce:
    """The most threads that were in progress at the same time, and the mean of all the while.

    In progress is a thread from a message that is sent until its answer is seen, wherever it waits meanwhile.
    `in_slices` are groups that the queue had given out at the same time, `slices` invocations; `cold_starts` are those
    for which a process had to be started. None where not known.
    """

    in_progress: int
    mean: float
    in_slices: int | None = None
    slices: int | None = None
    cold_starts: int | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """What the deployment itself tells of a run. None is not known: in an account, only its own metrics know.

    `in_slices`: an interval for each group that was given out; `slices`: for each invocation; `receives`: how many
    messages were given out how often; `left`: messages that nobody had handled in the end.
    """

    dead_letters: int
    in_slices: Sequence[Interval] | None = None
    slices: Sequence[Interval] | None = None
    cold_starts: int | None = None
    receives: Mapping[int, int] | None = None
    left: int | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """What was not as it should be, or not at once. `oldest_s`: the age of the oldest message without an answer.

    `throttles`: sendings that SQS did not take at first. Errors that were told, by code: `failed` ended a message,
    `passing` did not: a model that is throttled and tried again, a tool server that is left out.
    """

    throttles: int
    passing: Mapping[str, int]
    failed: Mapping[str, int]
    receives: Mapping[int, int] | None
    dead_letters: int
    left: int | None
    oldest_s: float


@dataclass(frozen=True, slots=True)
class Figures:
    """`took_s` goes from the first message to the end of the last turn, `sending_s` to the last message.

    Latencies count from the sending of a message.
    """

    run_id: str
    threads: int
    tally: Tally
    took_s: float
    sending_s: float
    turns: int
    first_output: Spread | None
    turn_done: Spread | None
    at_once: AtOnce
    trouble: Trouble

    @property
    def turns_per_s(self) -> float:
        return self.turns / self.took_s if self.took_s else 0.0

    @property
    def ok(self) -> bool:
        return self.tally.ok and not (self.trouble.dead_letters or self.trouble.left)


def figures_of(ledger: Ledger, observed: Observed, ended_at: float) -> Figures:
    """Count. `ended_at` is when nothing was waited for any more, by the ledger's clock."""
    fates, turns = ledger.fates, ledger.turns
    began_at = min((fate.sent_at for fate in fates), default=ended_at)
    last_at = max((turn.done_at for turn in turns if turn.done_at is not None), default=ended_at)
    waiting = [fate.sent_at for fate in fates if fate.done_at is None]
    return Figures(
        run_id=ledger.plan.run_id,
        threads=ledger.plan.threads,
        tally=ledger.tally(),
        took_s=max(0.0, last_at - began_at),
        sending_s=max((fate.sent_at for fate in fates), default=began_at) - began_at,
        turns=len(turns),
        first_output=spread([fate.first_at - fate.sent_at for fate in fates if fate.first_at is not None]),
        turn_done=spread([fate.done_at - fate.sent_at for fate in fates if fate.done_at is not None]),
        at_once=_at_once(fates, observed, ended_at),
        trouble=Trouble(
            throttles=ledger.throttles,
            passing=ledger.errors,
            failed=ledger.failures,
            receives=observed.receives,
            dead_letters=observed.dead_letters,
            left=observed.left,
            oldest_s=ended_at - min(waiting, default=ended_at),
        ),
    )


def spread(seconds: Sequence[float]) -> Spread | None:
    """Return the percentiles of these; nothing of nothing."""
    if not seconds:
        return None
    if len(seconds) == 1:
        return Spread(seconds[0], seconds[0], seconds[0], seconds[0])
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return Spread(cuts[49], cuts[94], cuts[98], max(seconds))


def most_at_once(intervals: Iterable[Interval]) -> int:
    """How many of these lie over each other at most. One that begins where another ends does not."""
    most = running = 0
    changes = [change for begin, end in intervals for change in ((begin, 1), (end, -1))]
    for _, change in sorted(changes):  # at the same moment, ends come first
        running += change
        most = max(most, running)
    return most


def united(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the same time in intervals that do not touch."""
    found: list[Interval] = []
    for begin, end in sorted(intervals):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((begin, end))
    return found


def enough_threads(steps: Sequence[Figures]) -> int | None:
    """Return the fewest threads that no larger step beats by a tenth of its turns per second, or None."""
    for place, step in enumerate(steps[:-1]):
        if all(larger.turns_per_s < step.turns_per_s * LEAST_GAIN for larger in steps[place + 1 :]):
            return step.threads
    return None


def to_json(runs: Sequence[Figures]) -> str:
    figures = [{"ok": run.ok, **asdict(run), "turns_per_s": run.turns_per_s} for run in runs]
    return json.dumps({"ok": all(run.ok for run in runs), "runs": figures}, indent=1) + "\n"


def _at_once(fates: Sequence[Fate], observed: Observed, ended_at: float) -> AtOnce:
    by_thread: dict[str, list[Interval]] = {}
    for fate in fates:
        end = ended_at if fate.done_at is None else fate.done_at
        by_thread.setdefault(fate.saying.thread_id, []).append((fate.sent_at, end))
    intervals = [interval for each in by_thread.values() for interval in united(each)]
    whole_s = max((end for _, end in intervals), default=0.0) - min((begin for begin, _ in intervals), default=0.0)
    return AtOnce(
        in_progress=most_at_once(intervals),
        mean=sum(end - begin for begin, end in intervals) / whole_s if whole_s else 0.0,
        in_slices=None if observed.in_slices is None else most_at_once(observed.in_slices),
        slices=None if observed.slices is None else most_at_once(observed.slices),
        cold_starts=observed.cold_starts,
    )
