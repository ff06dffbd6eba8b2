"""The judge of the outage scenario: every promise, seen kept and seen broken."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from scripts.commands.outputs import Output
from scripts.demonstration.deliveries import Delivery
from scripts.demonstration.evidence import StoredCall, StoredEntry
from scripts.demonstration.outage_evidence import Outage, Said, fates
from scripts.demonstration.outage_verdicts import judge_outage
from scripts.demonstration.talks import Talk

GONE_AT, BACK_AT = 1_000.0, 3_400.0
EARLY, LATE = Said("early", "Early?", "m-early", GONE_AT), Said("late", "Late?", "m-late", BACK_AT - 100)
BUILD = Said("at work", "Build.", "m-build", GONE_AT - 60)


def output(kind: str, sent_at: float, **fields: str | bool) -> Output:
    return Output(f"{kind}{sent_at}", kind, "t", "t", None, {**fields}, sent_at)


def answer(sent_at: float, text: str) -> list[Output]:
    return [output("text", sent_at, text=text), output("turn_done", sent_at)]


def given_up(sent_at: float) -> Output:
    return output("error", sent_at, code="model_unavailable", retrying=False)


def delivery(message_id: str, group: str, receives: int, at: float, *, handled: bool) -> Delivery:
    return Delivery(message_id, group, receives, at, at + 1, handled)


def history(*pairs: tuple[str, str]) -> list[StoredEntry]:
    return [StoredEntry(place, kind, {"text": text}) for place, (kind, text) in enumerate(pairs, start=1)]


TALKS: Mapping[str, Talk] = {
    "early": Talk(
        "t-early",
        history(("user", "Early? [[script: []]]"), ("assistant", 'You said: "Early?".')),
        [],
        [given_up(GONE_AT + 300), *answer(BACK_AT + 900, 'You said: "Early?".')],
        wakes=1,
    ),
    "late": Talk(
        "t-late",
        history(("user", "Late?"), ("assistant", 'You said: "Late?".')),
        [],
        answer(BACK_AT + 50, 'You said: "Late?".'),
        wakes=0,
    ),
    "at work": Talk(
        "t-work",
        history(("user", "Build."), ("tool_call", ""), ("tool_result", "built 7"), ("assistant", "It says built 7")),
        [StoredCall("c1", "run_build", "answered")],
        [given_up(GONE_AT + 300), *answer(BACK_AT + 900, "It says built 7")],
        wakes=1,
    ),
}
GOOD = Outage(
    gone_at=GONE_AT,
    back_at=BACK_AT,
    said=[BUILD, EARLY, LATE],
    talks=TALKS,
    deliveries=[
        delivery("m-build", "t-work", 1, GONE_AT - 60, handled=True),
        delivery("m-early", "t-early", 1, GONE_AT, handled=False),
        delivery("m-early", "t-early", 7, GONE_AT + 300, handled=True),
        delivery("result", "t-work", 7, GONE_AT + 300, handled=True),
        delivery("m-late", "t-late", 6, BACK_AT + 50, handled=True),
        delivery("wake", "t-early", 1, BACK_AT + 900, handled=True),
        delivery("wake-too", "t-work", 1, BACK_AT + 900, handled=True),
    ],
    dead_letters=0,
    timers_left=0,
)

AWAY = "the model was away, and nothing was answered meanwhile"
BY_ITSELF = "every conversation went on when the model was back, and nobody had said anything"
WAYS = "what was young came back by the queue, what was old by a wake timer"
STORED = "every text is in its history, once, in order"
ANSWERED = "every text was answered exactly once"
RESULT = "the result that came in the outage was answered exactly once"
PATIENCE = "what was not to be answered was committed at receive 7"
WAKES = "every wake timer that was set came, and none was swallowed"
WITHHELD = "nothing is withheld from the model"
DEAD = "nothing went to the dead-letter queue"


def broken(outage: Outage) -> list[str]:
    return [check.promise for check in judge_outage(outage).checks if not check.kept]


def changed(name: str, **fields: object) -> Outage:
    return replace(GOOD, talks={**TALKS, name: replace(TALKS[name], **fields)})  # type: ignore[arg-type]


def test_an_outage_that_cost_nothing_but_time_is_ok() -> None:
    assert broken(GOOD) == []


def test_the_rows_say_of_each_message_how_often_when_and_by_what() -> None:
    rows = {fate.words: fate.row(GONE_AT) for fate in fates(GOOD)}
    assert rows["Early?"] == {
        "conversation": "early",
        "message": "Early?",
        "said_s": 0.0,
        "first_tried_s": 0.0,
        "receives": 7,
        "committed_s": 301.0,
        "answered_s": 3_300.0,
        "answered_by": "a wake timer",
        "errors": ["model_unavailable"],
    }
    assert rows["Late?"]["answered_by"] == "the queue's return"
    assert rows["(the build's result)"]["receives"] == 7


EARLY_ENTRIES, EARLY_OUTPUTS = list(TALKS["early"].entries), list(TALKS["early"].outputs)


@pytest.mark.parametrize(
    ("spoiled", "promise"),
    [
        (changed("early", outputs=[given_up(GONE_AT + 300), *answer(BACK_AT - 5, '"Early?"')]), AWAY),
        (changed("early", outputs=EARLY_OUTPUTS[:1]), BY_ITSELF),
        (replace(GOOD, said=[*GOOD.said, replace(LATE, words="More?", at=BACK_AT + 2_000)]), BY_ITSELF),
        (replace(GOOD, deliveries=[each for each in GOOD.deliveries if "wake" not in each.message_id]), WAYS),
        (changed("early", entries=EARLY_ENTRIES[1:]), STORED),
        (changed("early", entries=[*EARLY_ENTRIES[:1], *EARLY_ENTRIES]), STORED),
        (changed("early", entries=EARLY_ENTRIES[:1], outputs=EARLY_OUTPUTS[:1]), ANSWERED),
        (changed("early", entries=[*EARLY_ENTRIES, replace(EARLY_ENTRIES[1], position=3)]), ANSWERED),
        (changed("early", outputs=[*EARLY_OUTPUTS, *EARLY_OUTPUTS[1:]]), ANSWERED),
        (changed("at work", entries=TALKS["at work"].entries[:3]), RESULT),
        (changed("at work", calls=[StoredCall("c1", "run_build", "pending")]), RESULT),
        (replace(GOOD, deliveries=[replace(each, receives=5) for each in GOOD.deliveries]), PATIENCE),
        (changed("early", wakes=0), WAKES),
        (replace(GOOD, timers_left=1), WAKES),
        (changed("early", entries=[replace(each, withheld="died") for each in EARLY_ENTRIES]), WITHHELD),
        (replace(GOOD, dead_letters=1), DEAD),
    ],
)
def test_a_broken_promise_is_seen(spoiled: Outage, promise: str) -> None:
    assert promise in broken(spoiled)


def test_nothing_at_all_is_never_ok() -> None:
    assert broken(replace(GOOD, said=[], talks={}, deliveries=[]))
