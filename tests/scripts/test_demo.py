"""The command line of the demo, and what it writes."""

import json

import pytest

from scripts.demonstration.command import Report, chosen_scenarios
from scripts.demonstration.verdicts import Check, Verdict

KEPT = Verdict([Check("the answer came", kept=True, seen="hello")], slices=3)
BRIEF = ("basic", "interrupt")
LONG = ("threads", "events", "choices", "sleep", "compaction", "crash", "crash-threads", "outage", "poison")
BROKEN = Verdict([Check("the answer came", kept=False, seen="nothing")], slices=1)


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (None, BRIEF),
        ("basic", ("basic",)),
        ("all", (*BRIEF, *LONG)),
    ],
)
def test_the_scenarios_are_the_short_ones_unless_others_are_asked_for(choice: str | None, names: tuple[str]) -> None:
    assert chosen_scenarios(choice) == names


def test_the_report_says_what_was_judged() -> None:
    assert json.loads(Report(12.34, 5.0, {"basic": KEPT, "interrupt": BROKEN}).to_json()) == {
        "ok": False,
        "setup_s": 12.3,
        "run_s": 5.0,
        "scenarios": {
            "basic": {"ok": True, "slices": 3, "why": "the answer came: hello"},
            "interrupt": {"ok": False, "slices": 1, "why": "the answer came: nothing"},
        },
    }


def test_the_report_tells_of_each_message_where_a_scenario_does() -> None:
    verdict = Verdict(KEPT.checks, slices=3, rows=[{"message": "hello", "receives": 7}])
    written = json.loads(Report(1, 1, {"outage": verdict}).to_json())
    assert written["scenarios"]["outage"]["messages"] == [{"message": "hello", "receives": 7}]


def test_a_demo_in_which_nothing_was_played_is_not_ok() -> None:
    assert not Report(1, 0, {}).ok
    assert Report(1, 0, {"basic": KEPT}).ok
