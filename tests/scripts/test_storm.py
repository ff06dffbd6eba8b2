"""The storm: what it plans, and that nothing it does to a system escapes its account."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from scripts.commands.outputs import Output
from scripts.demonstration.evidence import StoredEntry
from scripts.offline_stack.interposers.interventions import Exchange, Stage
from scripts.storming.account import Account
from scripts.storming.aftermath import Losses, as_readers_see_them, count_losses, ids_with_several_bodies
from scripts.storming.storm import PATIENCE_STAGES, Ambush, Plan

PLAN = Plan(threads=3, messages=4, duration_s=120, kill_every_s=1, seed=5)
SAID = ["one", "two", "three"]


def history(*written: tuple[str, str]) -> list[StoredEntry]:
    return [StoredEntry(position, kind, {"text": text}) for position, (kind, text) in enumerate(written, start=1)]


def outputs(*texts: str) -> list[Output]:
    return [
        Output(f"o{place}", "text", "t", "t", place, {"text": text}, sent_at=1.0) for place, text in enumerate(texts)
    ]


ANSWERS = ('You said: "one".', 'You said: "two" and "three".')
WHOLE = history(
    ("user", "one"), ("assistant", ANSWERS[0]), ("user", "two"), ("user", "three"), ("assistant", ANSWERS[1])
)


def test_every_thread_says_each_of_its_texts_once_in_order_and_in_time() -> None:
    sendings = PLAN.sendings()
    for thread_id in PLAN.thread_ids:
        texts = [message.text for _, message in sendings if message.thread_id == thread_id]
        assert texts == PLAN.texts_of(thread_id)
    seconds = [second for second, _ in sendings]
    assert seconds == sorted(seconds)
    assert 0 <= seconds[0] < seconds[-1] <= PLAN.duration_s
    assert len({message.text for _, message in sendings}) == 12


def test_the_same_seed_plans_the_same_storm() -> None:
    seconds, again, other = (
        [second for second, _ in plan.sendings()] for plan in (PLAN, replace(PLAN), replace(PLAN, seed=6))
    )
    assert seconds == again != other


def test_an_ambush_strikes_at_its_moment() -> None:
    ambush = Ambush(("commit", "answered"), spared=0)
    seen: list[tuple[str, Stage]] = [("commit", "arrived"), ("load", "answered"), ("commit", "answered")]
    assert [ambush(Exchange(step), stage) for step, stage in seen] == [False, False, True]


def test_an_ambush_for_a_moment_that_does_not_come_strikes_at_another() -> None:
    ambush = Ambush(("commit", "answered"), spared=0)
    struck = [ambush(Exchange("load"), "arrived") for _ in range(PATIENCE_STAGES + 1)]
    assert struck == [False] * PATIENCE_STAGES + [True]


def test_an_ambush_spares_some_slices_first() -> None:
    ambush = Ambush(("commit", "answered"), spared=2)
    ends = [("commit", "answered"), ("write receipts", "answered")] * 2
    assert not any(ambush(Exchange(step), stage) for step, stage in ends)  # type: ignore[arg-type]
    assert ambush(Exchange("commit"), "answered")


def test_a_whole_history_has_no_losses() -> None:
    losses = count_losses(SAID, WHOLE, outputs(*ANSWERS))
    assert (losses, losses.none) == (Losses(texts=3, answers=2), True)


def without(place: int) -> list[StoredEntry]:
    return [*WHOLE[:place], *WHOLE[place + 1 :]]


@pytest.mark.parametrize(
    ("entries", "seen", "loss"),
    [
        (without(0), ANSWERS, "lost"),
        ([*WHOLE, StoredEntry(6, "user", {"text": "two"})], ANSWERS, "doubled"),
        ([WHOLE[2], WHOLE[0], *WHOLE[3:]], ANSWERS[1:], "out_of_order"),
        (without(4), ANSWERS[:1], "unanswered"),
        ([WHOLE[1], WHOLE[0], *WHOLE[2:]], ANSWERS, "unanswered"),
        ([*WHOLE, StoredEntry(6, "assistant", {"text": ANSWERS[0]})], (*ANSWERS, ANSWERS[0]), "answered_twice"),
        (WHOLE, ANSWERS[:1], "unsent"),
        (WHOLE, ANSWERS[::-1], "unsent"),
        (WHOLE, (*ANSWERS, "more"), "unsent"),
        ([StoredEntry(1, "withheld", {"text": "one"}), *WHOLE[2:]], ANSWERS[1:], "withheld"),
        ([StoredEntry(1, "withheld", {"text": "one"}), *WHOLE[2:]], ANSWERS[1:], "unanswered"),
        ([*WHOLE, StoredEntry(6, "user", {"text": "four"})], ANSWERS, "strange"),
        ([], (), "lost"),
    ],
)
def test_a_loss_is_counted(entries: Sequence[StoredEntry], seen: Sequence[str], loss: str) -> None:
    placed = [replace(entry, position=position) for position, entry in enumerate(entries, start=1)]
    losses = count_losses(SAID, placed, outputs(*seen))
    assert getattr(losses, loss) > 0
    assert not losses.none


def test_losses_of_several_threads_add_up() -> None:
    assert Losses(texts=1, lost=2) + Losses(texts=3, unsent=1) == Losses(texts=4, lost=2, unsent=1)


def test_readers_drop_what_they_know_and_order_by_place() -> None:
    first, second = outputs("a", "b")
    other = replace(first, id="x", thread_id="u")
    assert as_readers_see_them([second, other, first, second]) == {"u": [other], "t": [first, second]}


def test_an_output_that_was_sent_with_two_bodies_is_seen() -> None:
    assert ids_with_several_bodies([{"a": "1", "b": "1"}, {"a": "1"}]) == 0
    assert ids_with_several_bodies([{"a": "1", "b": "1"}, {"a": "2"}]) == 1


GOOD = Account(
    plan=PLAN,
    kills=70,
    hits=60,
    moments={"load arrived": 70},
    slices=100,
    losses=Losses(texts=12, answers=9),
    outputs=18,
    resent=3,
    two_bodies=0,
    dead_letters=0,
    left=0,
    calm_after_s=1.0,
)


def test_a_storm_that_hit_enough_and_cost_nothing_is_ok() -> None:
    assert GOOD.ok
    assert '"ok": true' in GOOD.to_json()


@pytest.mark.parametrize(
    "spoiled",
    [
        replace(GOOD, hits=49),
        replace(GOOD, hits=71),
        replace(GOOD, losses=Losses(texts=12, lost=1)),
        replace(GOOD, two_bodies=1),
        replace(GOOD, dead_letters=1),
        replace(GOOD, left=1),
    ],
)
def test_a_storm_that_hit_too_little_or_cost_something_is_not_ok(spoiled: Account) -> None:
    assert not spoiled.ok
