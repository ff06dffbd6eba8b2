"""The judges of the events scenario and of its flood: every promise, seen kept and seen broken."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from runtime.phrases import SUBSCRIBED
from scripts.demonstration.events_verdicts import LAST, TICKS, Watched, judge_events
from scripts.demonstration.evidence import ModelRequest, StoredCall, StoredEntry
from scripts.demonstration.families import Family
from scripts.demonstration.flood import Flood
from scripts.demonstration.flood_verdicts import judge_flood
from tests.support.family_values import entry, event, member, root

ENDED = [StoredCall("w", "watch", "ended")]
REQUESTS = [ModelRequest(0, 1, refused=False, messages=[])]


def told(texts: Sequence[str], first: int = 2) -> list[StoredEntry]:
    return [event(first + place, "subscription", text) for place, text in enumerate(texts)]


def watched(*entries: StoredEntry, **counted: int) -> Watched:
    answer = entry(len(entries) + 2, "assistant", "Seen.")
    family = Family([root(entry(1, "user", "watch"), *entries, answer, calls=ENDED)])
    return Watched(family, family.root.outputs, Counter(counted))


def threaded(*, reported: int = 4, is_open: bool = False) -> Watched:
    children = [
        member(
            f"e{place}",
            event(1, "subscription", text),
            entry(2, "tool_result", "Reported.", deed={"report": text}),
            entry(3, "assistant", "Seen.", closes=True),
            kind="event",
            is_open=is_open,
        )
        for place, text in enumerate(TICKS)
    ]
    heard = [
        event(2 + place, "report", f"Thread e{place} reports:\nI saw this: {TICKS[place]}", cause=f"report:e{place}:2")
        for place in range(reported)
    ]
    family = Family([root(entry(1, "user", "watch"), *heard, calls=ENDED), *children])
    return Watched(family, [], Counter())


def cancelled(*late: str, **counted: int) -> Watched:
    end = entry(3, "tool_result", "Ended.", cancelled={"call_id": "w"})
    return watched(*told(["Tick 1."]), end, *told(late, 4), **counted)


def overtaken(*, dropped: int = 1) -> Watched:
    return watched(entry(2, "tool_result", SUBSCRIBED), *told(TICKS, 3), result_of_subscribed_call=dropped)


GOOD: Mapping[str, Watched] = {
    "associative": watched(*told(TICKS)),
    "threaded": threaded(),
    "overtaken": overtaken(),
    "cancelled": cancelled(event_of_call_not_live=2, notice_accepted=1),
}


def broken(seen: Mapping[str, Watched]) -> list[str]:
    return [check.promise for check in judge_events(seen, REQUESTS) if not check.kept]


def test_what_is_kept_is_said_to_be_kept() -> None:
    assert broken(GOOD) == []


@pytest.mark.parametrize(
    ("name", "instead", "promise"),
    [
        ("associative", watched(*told([TICKS[1], TICKS[0], *TICKS[2:]])), "once, in order"),
        ("associative", watched(*told(TICKS[:3])), "once, in order"),
        ("threaded", threaded(is_open=True), "closed with its turn"),
        ("threaded", threaded(reported=3), "heard what it reported"),
        ("overtaken", overtaken(dropped=0), "overtakes the confirmation"),
        ("overtaken", watched(entry(2, "tool_result", "Watching."), *told(TICKS, 3)), "overtakes the confirmation"),
        ("cancelled", cancelled(event_of_call_not_live=2), "its server is told"),
        ("cancelled", cancelled(notice_failed=1), "not live any more"),
        ("cancelled", cancelled("Tick 2.", event_of_call_not_live=2, notice_accepted=1), "not live any more"),
    ],
)
def test_what_is_broken_is_said_to_be_broken(name: str, instead: Watched, promise: str) -> None:
    assert any(promise in each for each in broken({**GOOD, name: instead}))


def flood(inline: Sequence[str] = ("Tick 2 of 3.", "Tick 3 of 3.", LAST), left: int = 0) -> Flood:
    child = member("e", event(1, "subscription", "Tick 1 of 3."), kind="event")
    witness = Family([root(entry(1, "user", "?"), entry(2, "assistant", "!"))])
    family = Family([root(entry(1, "user", "watch"), *told(inline), calls=ENDED), child])
    return Flood(family, events=3, budget=1, before_s=[1.0], during_s=[2.0], witnesses=[witness], left=left)


def test_a_flood_that_loses_nothing_is_said_to_be_so() -> None:
    assert [check.promise for check in judge_flood(flood()) if not check.kept] == []
    assert flood().ratio == 2


@pytest.mark.parametrize(
    ("instead", "promise"),
    [
        (flood(["Tick 2 of 3.", LAST]), "was taken, once"),
        (flood(["Tick 2 of 3.", "Tick 2 of 3.", "Tick 3 of 3.", LAST]), "was taken, once"),
        (flood(["Tick 3 of 3.", "Tick 2 of 3.", LAST]), "in order"),
        (flood(left=1), "nothing is left over"),
        (replace(flood(), during_s=[]), "were answered"),
        (replace(flood(), witnesses=[Family([root(entry(1, "user", "?"))])]), "were answered"),
    ],
)
def test_a_flood_that_loses_something_is_seen(instead: Flood, promise: str) -> None:
    assert any(promise in check.promise for check in judge_flood(instead) if not check.kept)
