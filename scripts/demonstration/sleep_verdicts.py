"""Whether agents slept as long as they were to, and at no cost, judged from evidence alone."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from scripts.demonstration.deliveries import Delivery
from scripts.demonstration.talks import Talk
from scripts.demonstration.verdicts import Check, Verdict

SLEPT = ["user", "tool_call", "tool_result", "assistant"]
WOKEN = ["user", "tool_call", "tool_result", "user", "assistant"]
# After the short sleep, with the long ones asleep, after the interruption, after the month.
SCHEDULES = [0, 2, 1, 0]
# The call is told a moment after its commit, from which the time counts.
TOLD_LATE_S = 2
# A schedule is looked at every second here; what it sends goes by two queues and two functions.
LATE_S = 30


@dataclass(frozen=True, slots=True)
class Nap:
    """A conversation whose agent slept. `seconds`: how long, if all is well. `deliveries`: what the queue gave it."""

    name: str
    seconds: int
    talk: Talk
    deliveries: Sequence[Delivery]

    @property
    def measured_s(self) -> float | None:
        """The time between the call and the end of the turn, as the output queue saw them."""
        began = [output.sent_at for output in self.talk.outputs if output.type == "tool_call"]
        ended = [output.sent_at for output in self.talk.outputs if output.type == "turn_done"]
        return ended[-1] - began[0] if began and ended else None

    @property
    def told_s(self) -> int | None:
        """How long it was by its own result."""
        results = [entry.text for entry in self.talk.entries if entry.kind == "tool_result"]
        found = re.search(r"(\d+) s\b", results[-1]) if results else None
        return None if found is None else int(found[1])

    @property
    def row(self) -> dict[str, object]:
        measured_s = self.measured_s
        return {
            "conversation": self.name,
            "asked_s": self.seconds,
            "told_s": self.told_s,
            "measured_s": None if measured_s is None else round(measured_s, 1),
        }


@dataclass(frozen=True, slots=True)
class Sleep:
    """What the night left behind. `schedules`: how many there were, stage by stage."""

    slept: Sequence[Nap]
    interrupted: Nap
    schedules: Sequence[int]

    @property
    def all(self) -> list[Nap]:
        return [*self.slept, self.interrupted]


def judge_sleep(night: Sleep) -> Verdict:
    checks = [
        _histories(night),
        *(_lasted(nap) for nap in night.all),
        _nothing_else_ran(night),
        _schedules(night),
        _each_answer_was_sent_once(night),
    ]
    return Verdict(checks, sum(len(nap.deliveries) for nap in night.all), [nap.row for nap in night.all])


def _histories(night: Sleep) -> Check:
    kinds = {nap.name: [entry.kind for entry in nap.talk.entries] for nap in night.all}
    expected = {**{nap.name: SLEPT for nap in night.slept}, night.interrupted.name: WOKEN}
    seen = "; ".join(f"{name}: {' '.join(found) or 'nothing'}" for name, found in kinds.items())
    return Check("the stored histories are those expected: each sleep has one result", kinds == expected, seen)


def _lasted(nap: Nap) -> Check:
    measured_s, told_s = nap.measured_s, nap.told_s
    if measured_s is None or told_s is None:
        return Check(f"the {nap.name} sleep ended when it was to", kept=False, seen="it did not end")
    kept = nap.seconds - TOLD_LATE_S <= measured_s <= nap.seconds + LATE_S
    kept = kept and nap.seconds <= told_s <= nap.seconds + LATE_S
    seen = f"{nap.seconds} s, {told_s} s by its result, {measured_s:.1f} s between its outputs"
    return Check(f"the {nap.name} sleep ended when it was to, and says how long it was", kept, seen)


def _nothing_else_ran(night: Sleep) -> Check:
    """The text and the timer; or two texts, where the timer's time was over long before the end of the month."""
    counts = {nap.name: len(nap.deliveries) for nap in night.all}
    errors = sum(len(nap.talk.errors) for nap in night.all)
    seen = ", ".join(f"{name} {count}" for name, count in counts.items())
    kept = set(counts.values()) == {2} and not errors
    return Check("each woke for its text and its end, and nothing came of the sleep that was interrupted", kept, seen)


def _schedules(night: Sleep) -> Check:
    seen = ", ".join(map(str, night.schedules)) or "never counted"
    return Check(
        "the short sleep needed no schedule, and none was left by the others", list(night.schedules) == SCHEDULES, seen
    )


def _each_answer_was_sent_once(night: Sleep) -> Check:
    stored = [[entry.text for entry in nap.talk.entries if entry.kind == "assistant"] for nap in night.all]
    sent = [[output.text_of("text") for output in nap.talk.outputs if output.type == "text"] for nap in night.all]
    count = sum(map(len, sent))
    return Check("every stored answer was sent, once", stored == sent and count > 0, f"{count} sent")
