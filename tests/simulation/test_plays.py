"""Small scenarios in full: what can go wrong at each of their calls does so, one after the other."""

import pytest

from scripts.simulation.family_plays import FAMILY_PLAYS
from scripts.simulation.plays import PLAYS, deaths, overlaps
from scripts.simulation.walk import Run

# The others take longer: `scripts/simulate --plays`.
OVERLAPPING = [name for name in PLAYS if name not in FAMILY_PLAYS]
OVERLAPPING += ["compaction", "a choice is made"]


def broken(run: Run) -> tuple[str, ...]:
    return () if run.violation is None else (str(run.violation), *run.trace)


@pytest.mark.parametrize("name", PLAYS)
def test_a_process_that_dies_at_any_of_its_calls_breaks_no_promise(name: str) -> None:
    runs = [broken(run) for run in deaths(PLAYS[name])]
    assert len(runs) > 10
    assert next(filter(None, runs), ()) == ()


@pytest.mark.parametrize("name", OVERLAPPING)
def test_two_processes_with_the_same_messages_break_no_promise_wherever_they_stop(name: str) -> None:
    runs = [broken(run) for run in overlaps(PLAYS[name])]
    assert len(runs) > 100
    assert next(filter(None, runs), ()) == ()
