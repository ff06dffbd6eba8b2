"""Whether the events of subscriptions arrived as promised, judged from evidence alone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runtime.phrases import SUBSCRIBED
from scripts.commands.outputs import Output
from scripts.demonstration.evidence import ModelRequest
from scripts.demonstration.families import Family, Member
from scripts.demonstration.family_checks import (
    answers_were_sent_once,
    every_word_arrived_once_in_order,
    positions_are_dense,
)
from scripts.demonstration.verdicts import Check, counted, model_saw_only_answered_calls

LAST = "The watch is over."
TICKS = ["Tick 1 of 3.", "Tick 2 of 3.", "Tick 3 of 3.", LAST]


@dataclass(frozen=True, slots=True)
class Watched:
    """One conversation with its threads, all outputs that came of it, and what was counted of its root."""

    family: Family
    outputs: Sequence[Output]
    counted: Counter[str]

    @property
    def root(self) -> Member:
        return self.family.root

    @property
    def told(self) -> list[str]:
        """The events that came into the conversation itself, in order."""
        return [entry.text for entry in self.root.events_from("subscription")]

    @property
    def states(self) -> list[str]:
        return [call.state for call in self.root.calls if call.name == "watch"]


def judge_events(watched: Mapping[str, Watched], requests: Sequence[ModelRequest]) -> list[Check]:
    return [
        _told_in_order(watched["associative"]),
        *_threads_of_events(watched["threaded"]),
        _overtaken(watched["overtaken"]),
        *_cancelled(watched["cancelled"]),
        *_common(watched, requests),
    ]


def _told_in_order(watched: Watched) -> Check:
    kept = watched.told == TICKS and watched.states == ["ended"] and len(watched.family.members) == 1
    promise = "associative events came into the conversation, once, in order, and the final one ended it"
    return Check(promise, kept, f"{watched.told}, {', '.join(watched.states)}")


def _threads_of_events(watched: Watched) -> list[Check]:
    children = watched.family.children_of(watched.root, "event")
    seen = sorted(entry.text for child in children for entry in child.events_from("subscription"))
    still_open = sum(child.birth.is_open for child in children)
    alone = seen == sorted(TICKS) and not watched.told and not still_open
    reported = sorted(entry.text.partition("I saw this: ")[2] for entry in watched.root.events_from("report"))
    closings = sum("has closed" in entry.text for entry in watched.root.entries)
    return [
        Check(
            "each other event had a thread of its own, which closed with its turn",
            alone and len(children) == len(TICKS) and watched.states == ["ended"],
            f"{counted(len(children), 'thread')}, {still_open} open: {', '.join(seen)}",
        ),
        Check(
            "of such a thread the conversation heard what it reported, and nothing else",
            reported == sorted(TICKS) and not closings,
            f"{counted(len(reported), 'report')}, {counted(closings, 'closing')}",
        ),
    ]


def _overtaken(watched: Watched) -> Check:
    """The event confirms the subscription itself; what comes for it later is dropped."""
    results = [entry.text for entry in watched.root.entries if entry.kind == "tool_result"]
    dropped = watched.counted["result_of_subscribed_call"]
    kept = results == [SUBSCRIBED] and watched.told == TICKS and dropped == 1 and watched.states == ["ended"]
    promise = "an event that overtakes the confirmation confirms, and the confirmation is dropped"
    return Check(promise, kept, f"{counted(len(watched.told), 'event')}, {dropped} dropped")


def _cancelled(watched: Watched) -> list[Check]:
    entries = watched.root.entries
    ended = [entry.position for entry in entries if entry.body.get("cancelled")]
    late = [entry.text for entry in entries if ended and entry.kind == "event" and entry.position > ended[0]]
    notices = watched.counted["notice_accepted"] + watched.counted["notice_failed"]
    dropped = watched.counted["event_of_call_not_live"]
    kept = len(ended) == 1 and watched.states == ["ended"] and notices == 1
    accepted = "accepted" if watched.counted["notice_accepted"] else "not accepted in its second"
    return [
        Check(
            "a subscription that is cancelled has ended, and its server is told",
            kept,
            f"{', '.join(watched.states)}, {counted(notices, 'notice')}, {accepted}",
        ),
        Check(
            "events of what is not live any more are dropped",
            bool(watched.told) and not late and dropped > 0,
            f"{counted(len(watched.told), 'event')} before, {dropped} dropped after",
        ),
    ]


def _common(watched: Mapping[str, Watched], requests: Sequence[ModelRequest]) -> list[Check]:
    everybody = Family([member for each in watched.values() for member in each.family.members])
    outputs = [output for each in watched.values() for output in each.outputs]
    return [
        every_word_arrived_once_in_order(watched["threaded"].family),
        positions_are_dense(everybody),
        answers_were_sent_once(everybody, outputs),
        model_saw_only_answered_calls(requests),
    ]
