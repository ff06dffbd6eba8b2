"""The judge of the sleep scenario: every promise, seen kept and seen broken."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from scripts.commands.outputs import Output
from scripts.demonstration.deliveries import Delivery
from scripts.demonstration.evidence import StoredEntry
from scripts.demonstration.sleep_verdicts import Nap, Sleep, judge_sleep
from scripts.demonstration.talks import Talk

HISTORIES = "the stored histories are those expected: each sleep has one result"
LONG = "the long sleep ended when it was to, and says how long it was"
QUIET = "each woke for its text and its end, and nothing came of the sleep that was interrupted"
SCHEDULES = "the short sleep needed no schedule, and none was left by the others"
ANSWERS = "every stored answer was sent, once"


def said(kind: str, at: float, text: str = "") -> Output:
    return Output(f"{kind}{at}", kind, "t", "t", None, {"text": text}, at)


def history(*entries: tuple[str, str]) -> list[StoredEntry]:
    return [StoredEntry(position, kind, {"text": text}) for position, (kind, text) in enumerate(entries, start=1)]


def nap(name: str, seconds: int, entries: Sequence[StoredEntry], ended_at: float) -> Nap:
    outputs = [said("tool_call", 100), said("text", ended_at, "Awake."), said("turn_done", ended_at)]
    deliveries = [Delivery(f"m{n}", name, 1, 0, 1, handled=True) for n in range(2)]
    return Nap(name, seconds, Talk(name, entries, [], outputs, wakes=0), deliveries)


def slept(seconds: int) -> list[StoredEntry]:
    call, result = ("tool_call", ""), ("tool_result", f"Slept for {seconds} s.")
    return history(("user", "Rest."), call, result, ("assistant", "Awake."))


SHORT = nap("short", 3, slept(3), 103)
MONTH = nap("long", 2_592_000, slept(2_592_001), 2_592_102)
WOKEN = history(
    ("user", "Rest."),
    ("tool_call", ""),
    ("tool_result", "Woken after 121 s, because something arrived."),
    ("user", "Are you awake?"),
    ("assistant", "Awake."),
)
INTERRUPTED = nap("interrupted", 120, WOKEN, 221)
GOOD = Sleep([SHORT, MONTH], INTERRUPTED, [0, 2, 1, 0])


def with_month(month: Nap) -> Sleep:
    return replace(GOOD, slept=[SHORT, month])


def with_talk(entries: Sequence[StoredEntry] = MONTH.talk.entries, outputs: Sequence[Output] | None = None) -> Sleep:
    given = MONTH.talk.outputs if outputs is None else outputs
    return with_month(replace(MONTH, talk=replace(MONTH.talk, entries=entries, outputs=given)))


def broken(night: Sleep) -> list[str]:
    return [check.promise for check in judge_sleep(night).checks if not check.kept]


def test_a_night_in_which_all_went_well_is_ok_and_tells_of_each_sleep() -> None:
    verdict = judge_sleep(GOOD)

    assert verdict.ok, verdict.why
    assert verdict.slices == 6
    assert verdict.rows[1] == {
        "conversation": "long",
        "asked_s": 2_592_000,
        "told_s": 2_592_001,
        "measured_s": 2_592_002.0,
    }


@pytest.mark.parametrize(
    ("night", "promises"),
    [
        (with_month(nap("long", 2_592_000, slept(2_592_000), 2_592_099)), []),
        (with_month(nap("long", 2_592_000, slept(2_591_999), 2_592_102)), [LONG]),
        (with_month(nap("long", 2_592_000, slept(2_592_001), 2_500_000)), [LONG]),
        (with_month(nap("long", 2_592_000, slept(2_592_900), 2_593_000)), [LONG]),
        (with_talk(entries=[*slept(2_592_001), *slept(5)]), [HISTORIES, LONG, ANSWERS]),
        (with_talk(entries=slept(2_592_001)[:2]), [HISTORIES, "the long sleep ended when it was to", ANSWERS]),
        (with_talk(outputs=[]), ["the long sleep ended when it was to", ANSWERS]),
        (with_talk(outputs=[*MONTH.talk.outputs, said("error", 9)]), [QUIET]),
        (with_month(replace(MONTH, deliveries=[*MONTH.deliveries, *MONTH.deliveries])), [QUIET]),
        (replace(GOOD, interrupted=replace(INTERRUPTED, deliveries=[])), [QUIET]),
        (replace(GOOD, schedules=[0, 2, 2, 1]), [SCHEDULES]),
        (replace(GOOD, schedules=[]), [SCHEDULES]),
    ],
)
def test_what_did_not_go_well_is_named(night: Sleep, promises: list[str]) -> None:
    assert broken(night) == promises
