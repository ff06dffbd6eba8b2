"""The figures of a load test: what is measured of which times, and what of it makes a run a failure."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from scripts.commands.outputs import Output
from scripts.demonstration.deliveries import Delivery
from scripts.load_testing.figures import (
    AtOnce,
    Figures,
    Observed,
    Spread,
    Trouble,
    enough_threads,
    figures_of,
    most_at_once,
    spread,
    to_json,
    united,
)
from scripts.load_testing.ledger import Ledger, Tally
from scripts.load_testing.plan import Plan
from scripts.load_testing.showing import verdict, where_it_stops
from scripts.load_testing.sites import by_receives, held_groups
from tests.scripts.test_load_test import BEGAN_AT, turn

GOOD = Figures(
    run_id="0123abcd",
    threads=2,
    tally=Tally(messages=6, sent=6, answered=6, doubled=0, out_of_order=0, strays=0, failures=0),
    took_s=3.0,
    sending_s=2.0,
    turns=6,
    first_output=None,
    turn_done=None,
    at_once=AtOnce(2, 1.5),
    trouble=Trouble(0, {}, {}, None, dead_letters=0, left=None, oldest_s=0.0),
)


def test_percentiles_are_those_of_all_that_was_measured() -> None:
    assert spread([float(number) for number in range(101)]) == Spread(50, 95, 99, 100)
    assert spread([2.0]) == Spread(2, 2, 2, 2)
    assert spread([]) is None


@pytest.mark.parametrize(
    ("intervals", "most"),
    [
        ([], 0),
        ([(0, 2), (1, 3), (4, 5)], 2),
        ([(0, 1), (1, 2)], 1),
        ([(0, 9), (1, 8), (2, 3), (4, 5)], 3),
    ],
)
def test_what_lies_over_each_other_is_at_once(intervals: Sequence[tuple[float, float]], most: int) -> None:
    assert most_at_once(intervals) == most


def test_times_of_one_thread_that_touch_are_one() -> None:
    assert united([(4, 5), (0, 2), (1, 3), (3, 4), (7, 8)]) == [(0, 5), (7, 8)]


def test_a_run_is_measured_from_its_first_message_to_the_end_of_its_last_turn() -> None:
    plan = Plan(threads=2, messages=2, run_id="0123abcd")
    one, other = plan.thread_ids
    (first, second), (asked, never_answered) = plan.sayings_of(one), plan.sayings_of(other)
    ledger = Ledger(plan, BEGAN_AT)
    ledger.note_sent([first, asked], BEGAN_AT + 1)
    ledger.see(turn(1, first), BEGAN_AT + 2)
    ledger.note_sent([second], BEGAN_AT + 3)
    ledger.see(turn(1, asked, thread_id=other), BEGAN_AT + 4)
    ledger.note_sent([never_answered], BEGAN_AT + 4)
    ledger.see(turn(2, second), BEGAN_AT + 6)

    figures = figures_of(ledger, Observed(dead_letters=0), BEGAN_AT + 11)

    assert (figures.took_s, figures.sending_s, figures.turns, figures.turns_per_s) == (5, 3, 3, 0.6)
    assert figures.turn_done == spread([1, 3, 3])
    assert (figures.at_once.in_progress, figures.at_once.mean) == (2, (1 + 3 + 10) / 10)
    assert figures.trouble.oldest_s == 7
    assert not figures.ok


def test_a_thread_with_several_messages_is_in_progress_once_and_the_oldest_of_them_is_told() -> None:
    plan = Plan(threads=1, messages=2, run_id="0123abcd")
    ledger = Ledger(plan, BEGAN_AT)
    for saying in plan.sayings_of(plan.thread_ids[0]):
        ledger.note_sent([saying], BEGAN_AT + saying.number)

    figures = figures_of(ledger, Observed(dead_letters=0), BEGAN_AT + 5)

    assert (figures.at_once.in_progress, figures.at_once.mean, figures.trouble.oldest_s) == (1, 1, 5)


def test_a_run_of_which_nothing_was_sent_has_figures_too() -> None:
    figures = figures_of(Ledger(Plan(1, 1), BEGAN_AT), Observed(dead_letters=0), BEGAN_AT + 1)
    assert (figures.turns, figures.turns_per_s, figures.turn_done, figures.at_once.in_progress) == (0, 0, None, 0)
    assert not figures.ok


def test_what_the_deployment_tells_is_passed_on() -> None:
    observed = Observed(1, [(0, 2), (1, 3)], [(0, 3)], cold_starts=1, receives={1: 5, 2: 1}, left=4)
    figures = figures_of(Ledger(Plan(1, 1), BEGAN_AT), observed, BEGAN_AT)
    assert figures.at_once == AtOnce(0, 0.0, in_slices=2, slices=1, cold_starts=1)
    assert (figures.trouble.dead_letters, figures.trouble.receives, figures.trouble.left) == (1, {1: 5, 2: 1}, 4)


@pytest.mark.parametrize(
    ("spoiled", "said"),
    [
        (replace(GOOD, tally=replace(GOOD.tally, sent=5, answered=5)), "1 not sent"),
        (replace(GOOD, tally=replace(GOOD.tally, answered=4)), "2 unanswered"),
        (replace(GOOD, tally=replace(GOOD.tally, doubled=1)), "1 answered twice"),
        (replace(GOOD, tally=replace(GOOD.tally, out_of_order=1)), "1 out of order"),
        (replace(GOOD, tally=replace(GOOD.tally, strays=1)), "1 turns that name no message"),
        (replace(GOOD, tally=replace(GOOD.tally, failures=1)), "1 errors"),
        (replace(GOOD, trouble=replace(GOOD.trouble, dead_letters=1)), "1 dead letters"),
        (replace(GOOD, trouble=replace(GOOD.trouble, left=1)), "1 not handled"),
    ],
)
def test_a_run_with_a_fault_fails_and_says_which(spoiled: Figures, said: str) -> None:
    assert (spoiled.ok, verdict(spoiled).plain) == (False, f"FAILED: {said}")
    assert (GOOD.ok, verdict(GOOD).plain) == (True, "ok: every message was answered once and in order")
    assert json.loads(to_json([GOOD, spoiled]))["ok"] is False
    assert json.loads(to_json([GOOD]))["ok"] is True


def test_errors_are_written_by_their_code() -> None:
    ledger = Ledger(Plan(1, 1), BEGAN_AT)
    (thread_id,) = ledger.plan.thread_ids
    for retrying in (True, False):
        fields = {"code": "model_unavailable", "retrying": retrying}
        ledger.see([Output(f"e{retrying}", "error", thread_id, thread_id, None, {**fields}, 0.0)], BEGAN_AT + 1)
    (run,) = json.loads(to_json([figures_of(ledger, Observed(dead_letters=0), BEGAN_AT + 2)]))["runs"]
    assert (run["trouble"]["passing"], run["trouble"]["failed"]) == ({"model_unavailable": 1}, {"model_unavailable": 1})


def step(threads: int, turns: int) -> Figures:
    return replace(GOOD, threads=threads, turns=turns, took_s=1.0)


def test_scaling_stops_at_the_fewest_threads_that_no_more_of_them_beat() -> None:
    rising = [step(1, 10), step(2, 19), step(4, 30)]
    assert enough_threads(rising) is None
    assert enough_threads([*rising, step(8, 32)]) == 4
    assert enough_threads([*rising, step(8, 32), step(16, 29)]) == 4
    assert enough_threads([step(1, 10), step(2, 9), step(4, 40)]) is None
    assert "stops scaling at 4 threads" in where_it_stops([*rising, step(8, 32)])
    assert "still gets more done at 4 threads" in where_it_stops(rising)


def given_out(message: str, group: str, begin: float, end: float, receives: int = 1) -> Delivery:
    return Delivery(message, group, receives, begin, end, handled=True)


def test_a_group_whose_next_message_is_given_out_before_the_log_says_so_is_in_one_slice_at_once() -> None:
    deliveries = [given_out("m1", "one", 0, 2.01), given_out("m2", "one", 2, 3), given_out("m3", "other", 1, 3)]
    assert most_at_once(held_groups(deliveries)) == 2


def test_a_message_counts_once_by_the_most_often_it_was_given_out() -> None:
    again = [given_out("m1", "one", 0, 1), given_out("m1", "one", 2, 3, receives=2), given_out("m2", "one", 4, 5)]
    assert by_receives(again) == {1: 1, 2: 1}
