"""What scripts/inspect says that a thread waits for, and how it says times."""

from dataclasses import replace

import pytest

from runtime.model.calls import Call, CallTarget
from runtime.model.entries import Usage
from runtime.model.threads import Compaction, GaveUp
from scripts.inspection import words
from scripts.inspection.reading import StoredThread
from scripts.inspection.states import state_of
from tests.support.inspected import stored
from tests.support.values import NOW_MS, answered, asked, call_row, called

MINUTE_MS = 60_000
TOLD = GaveUp("user:1", "model_unavailable", "…", 1, NOW_MS + 10 * MINUTE_MS)
SLEEP = Call("c", "sleep", {}, "pending", CallTarget(None, None, "end"), 2, NOW_MS, due_ms=NOW_MS + 3 * MINUTE_MS)


@pytest.mark.parametrize(
    ("thread", "said"),
    [
        (stored(asked(), answered()), "idle (for 1 min)"),
        (stored(asked()), "asks the model (for 1 min)"),
        (stored(asked(), called("c"), calls=[call_row("c")]), "waits for run_build (for 1 min)"),
        (stored(asked(), called("c", "sleep"), calls=[SLEEP]), "in sleep, due in 2 min (for 1 min)"),
        (
            stored(asked(), called("c", "sleep"), calls=[replace(SLEEP, due_ms=None)]),
            "in sleep, until something arrives (for 1 min)",
        ),
        (stored(asked(), gave_up=TOLD), "gave up, model_unavailable: tries again, due in 9 min (for 1 min)"),
        (
            stored(asked(), gave_up=replace(TOLD, wake_due_ms=None)),
            "gave up, model_unavailable: waits for a new message (for 1 min)",
        ),
        (stored(asked(), answered(), gave_up=replace(TOLD, wake_due_ms=None)), "idle (for 1 min)"),
        (stored(asked(), compaction=Compaction("s", 1, NOW_MS)), "waits for its summary (for 1 min)"),
        (stored(asked(), compaction=Compaction("s", 1, NOW_MS, failed_at=5)), "asks the model (for 1 min)"),
        (stored(asked(), answered(), closed_by="thread-1"), "closed (for 1 min)"),
        (stored(asked(), called("c"), calls=[call_row("c")], closed_by="parent"), "closed together with parent"),
        (stored(), "idle"),
    ],
)
def test_a_thread_says_what_it_waits_for(thread: StoredThread, said: str) -> None:
    assert words.state(state_of(thread), NOW_MS + MINUTE_MS) == said


@pytest.mark.parametrize(
    ("length_ms", "said"),
    [
        (-5, "0.0 s"),
        (40, "0.0 s"),
        (1_500, "1.5 s"),
        (59_999, "59 s"),
        (3_600_000, "1 h"),
        (93_784_000, "1 d 2 h"),
        (86_405_000, "1 d 5 s"),
    ],
)
def test_a_duration_has_two_units_at_most(length_ms: int, said: str) -> None:
    assert words.duration(length_ms) == said


def test_a_time_is_told_in_utc_and_what_was_due_as_past() -> None:
    assert words.moment(NOW_MS) == "2027-01-15 08:00:00"
    assert (words.due(NOW_MS, NOW_MS - 61_000), words.due(NOW_MS, NOW_MS + 61_000)) == ("in 1 min 1 s", "1 min 1 s ago")


def test_tokens_are_told_apart_and_none_is_told_as_none() -> None:
    assert words.tokens(Usage(1_200, 5, 300, 0)) == "1,200 in · 300 from cache · 5 out"
    assert words.tokens(Usage(0, 0)) == "0 tokens"


def test_a_text_that_is_cut_says_how_much_is_missing() -> None:
    assert (words.cut("abc", 3), words.cut("abcd" * 1_000, 3)) == ("abc", "abc… (3,997 more characters)")
