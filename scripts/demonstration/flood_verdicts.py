"""Whether a flood of events lost, doubled or misplaced any of them, and whether others were answered meanwhile."""

from collections import Counter

from scripts.demonstration.families import Family
from scripts.demonstration.flood import Flood
from scripts.demonstration.verdicts import Check, counted

LAST = "The watch is over."


def judge_flood(flood: Flood) -> list[Check]:
    return [_none_lost(flood), _over_the_budget_in_order(flood), _ended(flood), _others_were_answered(flood)]


def _none_lost(flood: Flood) -> Check:
    """Each event is in exactly one history: the subscriber's own, or that of a thread that was made for it."""
    expected = [f"Tick {number} of {flood.events}." for number in range(1, flood.events + 1)] + [LAST]
    times = Counter(_inline(flood.family) + _threaded(flood.family))
    lost, again = sum(times[text] == 0 for text in expected), sum(times[text] > 1 for text in expected)
    kept = set(times) == set(expected) and not lost and not again
    seen = f"{counted(len(expected), 'event')}, {lost} lost, {again} doubled"
    return Check("every event of the flood was taken, once", kept, seen)


def _over_the_budget_in_order(flood: Flood) -> Check:
    """The threads of the events stay open, so it is known how many there can be."""
    inline, threaded = _inline(flood.family), _threaded(flood.family)
    numbers = [int(text.split()[1]) for text in inline if text != LAST]
    kept = len(threaded) == flood.budget < flood.events and numbers == sorted(numbers)
    seen = f"{len(threaded)} with a thread of their own, {len(inline)} in the conversation itself"
    promise = "those over the budget of live children came into the conversation itself, in order"
    return Check(promise, kept and len(inline) == flood.events + 1 - flood.budget, seen)


def _ended(flood: Flood) -> Check:
    states = [call.state for call in flood.family.root.calls]
    seen = f"{', '.join(states)}; {counted(flood.left, 'message')} left"
    return Check("the subscription ended, and nothing is left over", states == ["ended"] and not flood.left, seen)


def _others_were_answered(flood: Flood) -> Check:
    """Whether, not how fast: how fast is shown, and depends on the machine."""
    answers = [len(witness.root.answers) for witness in flood.witnesses]
    said = [sum(entry.kind == "user" for entry in witness.root.entries) for witness in flood.witnesses]
    kept = len(flood.during_s) == len(flood.before_s) > 0 and answers == said
    promise = "others were answered during the flood"
    return Check(
        promise, kept, f"{counted(len(flood.during_s), 'turn')}, {flood.ratio:.1f} times as long by the median"
    )


def _inline(family: Family) -> list[str]:
    return [entry.text for entry in family.root.events_from("subscription")]


def _threaded(family: Family) -> list[str]:
    children = family.children_of(family.root, "event")
    return [entry.text for child in children for entry in child.events_from("subscription")]
