"""What was sent and seen in one run, and what became of each message. Calls nothing; the caller says what time it is.

An answer is a turn that is done, and whose text names the message's code. That is told by the outputs alone, as any
program that reads the queue could tell it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from scripts.commands.outputs import Output
from scripts.load_testing.plan import CODE, Plan, Progress, Saying
from scripts.storming.aftermath import as_readers_see_them, out_of_order


@dataclass(frozen=True, slots=True)
class Turn:
    """What a thread said up to one `turn_done`; `codes` in the order in which its texts name them.

    `first_at` is when its first output was seen, `done_at` its end; None while it has not ended.
    """

    codes: Sequence[str]
    first_at: float
    done_at: float | None


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a message: how many turns answered it, and when the first of them was first seen and done."""

    saying: Saying
    sent_at: float
    answers: int = 0
    first_at: float | None = None
    done_at: float | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of all messages. Those of `messages` that were not `sent` were not sent for want of answers.

    doubled: answered by more than one turn. out_of_order: answered before one that was sent earlier in its thread.
    strays: turns that answer no message of this test. failures: errors for which a thread was waited for no longer.
    """

    messages: int
    sent: int
    answered: int
    doubled: int
    out_of_order: int
    strays: int
    failures: int

    @property
    def unanswered(self) -> int:
        return self.sent - self.answered

    @property
    def ok(self) -> bool:
        """Whether every message was sent, and answered once and in order."""
        faults = self.doubled + self.out_of_order + self.strays + self.failures
        return self.messages == self.sent == self.answered and not faults


class Ledger:
    """Takes note of a run while it goes on. Times are epoch seconds of one clock."""

    def __init__(self, plan: Plan, began_at: float) -> None:
        self.plan = plan
        self.began_at = began_at
        self.throttles = 0
        self._sent: dict[str, dict[str, float]] = {thread_id: {} for thread_id in plan.thread_ids}
        self._outputs: dict[str, list[Output]] = {thread_id: [] for thread_id in plan.thread_ids}
        self._seen_at: dict[str, float] = {}
        self.progress: dict[str, Progress] = dict.fromkeys(plan.thread_ids, Progress())

    def note_sent(self, sayings: Iterable[Saying], at: float) -> None:
        for saying in sayings:
            sent = self._sent[saying.thread_id]
            sent[saying.code] = at
            thread = self.progress[saying.thread_id]
            self.progress[saying.thread_id] = replace(thread, sent=len(sent), sent_at=at - self.began_at)

    def see(self, outputs: Iterable[Output], at: float) -> None:
        """Take note of outputs of this run's threads; one that is known stays what it was."""
        fresh = [output for output in outputs if output.id not in self._seen_at]
        for output in fresh:
            self._seen_at[output.id] = at
            self._outputs[output.root_thread_id].append(output)
        for thread_id in {output.root_thread_id for output in fresh}:
            self._advance(thread_id)

    @property
    def fates(self) -> list[Fate]:
        """What became of every message that was sent, by thread and in order."""
        return [fate for thread_id in self.plan.thread_ids for fate in self._fates_of(thread_id)]

    @property
    def turns(self) -> list[Turn]:
        """Every turn that is done."""
        return [
            turn for thread_id in self.plan.thread_ids for turn in self._turns_of(thread_id) if turn.done_at is not None
        ]

    @property
    def errors(self) -> Mapping[str, int]:
        """How often each code was told of something that is tried again, or that stands beside a turn."""
        return dict(Counter(error.text_of("code") for error in self._errors() if not error.ends_turn_badly))

    @property
    def failures(self) -> Mapping[str, int]:
        """How often each code was reported as an error that ended a message."""
        return dict(Counter(error.text_of("code") for error in self._errors() if error.ends_turn_badly))

    def tally(self) -> Tally:
        fates = self.fates
        codes = {fate.saying.code for fate in fates}
        return Tally(
            messages=self.plan.in_all,
            sent=len(fates),
            answered=sum(fate.answers > 0 for fate in fates),
            doubled=sum(fate.answers > 1 for fate in fates),
            out_of_order=sum(self._out_of_order(thread_id) for thread_id in self.plan.thread_ids),
            strays=sum(codes.isdisjoint(turn.codes) for turn in self.turns),
            failures=sum(self.failures.values()),
        )

    def _advance(self, thread_id: str) -> None:
        answered = sum(fate.answers > 0 for fate in self._fates_of(thread_id))
        is_over = any(output.ends_turn_badly for output in self._outputs[thread_id])
        self.progress[thread_id] = replace(self.progress[thread_id], answered=answered, is_over=is_over)

    def _fates_of(self, thread_id: str) -> list[Fate]:
        turns, sent = self._turns_of(thread_id), self._sent[thread_id]
        sayings = self.plan.sayings_of(thread_id)
        return [_fate_of(saying, sent[saying.code], turns) for saying in sayings if saying.code in sent]

    def _turns_of(self, thread_id: str) -> list[Turn]:
        return turns_of(as_readers_see_them(self._outputs[thread_id]).get(thread_id, ()), self._seen_at)

    def _out_of_order(self, thread_id: str) -> int:
        named = [code for turn in self._turns_of(thread_id) for code in turn.codes]
        return out_of_order([saying.code for saying in self.plan.sayings_of(thread_id)], named)

    def _errors(self) -> list[Output]:
        return [output for outputs in self._outputs.values() for output in outputs if output.type == "error"]


def turns_of(outputs: Sequence[Output], seen_at: Mapping[str, float]) -> list[Turn]:
    """Cut the outputs of one thread, in their order, into turns. Errors belong to none."""
    turns: list[Turn] = []
    open_: list[Output] = []
    for output in outputs:
        if output.type != "error":
            open_.append(output)
        if output.type == "turn_done":
            turns.append(_turn(open_, seen_at, seen_at[output.id]))
            open_ = []
    return [*turns, _turn(open_, seen_at, None)] if open_ else turns


def _turn(outputs: Sequence[Output], seen_at: Mapping[str, float], done_at: float | None) -> Turn:
    said = "".join(output.text_of("text") for output in outputs if output.type == "text")
    return Turn(list(dict.fromkeys(CODE.findall(said))), min(seen_at[output.id] for output in outputs), done_at)


def _fate_of(saying: Saying, sent_at: float, turns: Sequence[Turn]) -> Fate:
    answers = [turn for turn in turns if saying.code in turn.codes and turn.done_at is not None]
    if not answers:
        return Fate(saying, sent_at)
    return Fate(saying, sent_at, len(answers), answers[0].first_at, answers[0].done_at)
