"""When a sleep is to end, and what a call of one is told that cannot."""

from datetime import UTC, datetime
from typing import Any

import pytest

from runtime.draft import Draft
from runtime.interpret import Moment, interpret
from runtime.items import plain_text
from runtime.model.calls import Call
from runtime.model.entries import ToolResult
from runtime.tools.builtin import BUILTINS
from runtime.tools.offer import offer_of
from tests.support.values import LIMITS, asked, calls, thread_of

NOON_MS = 1_767_268_800_000  # 2026-01-01 12:00 UTC
YEAR_S = 365 * 86_400


def ms_at(year: int, month: int, day: int, hour: int, minute: int = 0, second: int = 0) -> int:
    return int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()) * 1000


def after_call(name: str, arguments: dict[str, Any] | str) -> Draft:
    thread = thread_of(asked("wait"))
    return interpret(Draft.of(thread), calls(name, arguments), offer_of((), BUILTINS), Moment(NOON_MS, LIMITS))


def slept_on(name: str, arguments: dict[str, Any] | str) -> Call:
    """Return the call that the thread waits for."""
    call = after_call(name, arguments).pending_call
    assert call is not None
    return call


def refusal_of(name: str, arguments: dict[str, Any] | str) -> str:
    """Return what the model is told instead. Nothing is waited for, and it is asked again."""
    draft = after_call(name, arguments)
    result = draft.entries[-1].body
    assert isinstance(result, ToolResult)
    assert (result.status, draft.asks, dict(draft.calls)) == ("error", True, {})
    return plain_text(result.items)


@pytest.mark.parametrize(
    ("seconds", "waits_s"),
    [("3", 3), ("2.1", 3), ("0.001", 1), ("1e2", 100), ("0", 0), ("-0.5", 0), ("-7", 0), (str(YEAR_S), YEAR_S)],
)
def test_a_sleep_takes_its_seconds_rounded_up_and_none_at_all_where_there_are_none(seconds: str, waits_s: int) -> None:
    call = slept_on("sleep", f'{{"seconds": {seconds}}}')

    assert call.due_ms == NOON_MS + waits_s * 1000
    assert (call.target.toolset, call.target.on_interrupt) == (None, "end")


@pytest.mark.parametrize("seconds", ['"10"', "null", "true", "[]", '"soon"'])
def test_a_sleep_of_what_is_no_number_is_refused(seconds: str) -> None:
    assert "seconds" in refusal_of("sleep", f'{{"seconds": {seconds}}}')


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "1e999"])
def test_a_sleep_of_a_number_that_json_does_not_know_is_refused(seconds: str) -> None:
    assert "not a JSON object" in refusal_of("sleep", f'{{"seconds": {seconds}}}')


@pytest.mark.parametrize("seconds", [YEAR_S + 1, YEAR_S + 0.1, 1e300, 10**400])
def test_a_sleep_of_more_than_a_year_is_refused_with_what_to_do_instead(seconds: float) -> None:
    assert refusal_of("sleep", {"seconds": seconds}) == (
        "Error: a sleep lasts at most 31536000 seconds, which is one year. Sleep that long, and then again."
    )


@pytest.mark.parametrize(
    ("arguments", "due_ms"),
    [
        ({"date": "2026-01-01", "time": "12:00:01"}, NOON_MS + 1000),
        ({"date": "2026-01-02", "time": "08:00", "timezone": "UTC"}, ms_at(2026, 1, 2, 8)),
        ({"date": "2026-01-02", "time": "08:00", "timezone": "Europe/Berlin"}, ms_at(2026, 1, 2, 7)),
        ({"date": "2026-07-02", "time": "08:00", "timezone": "Europe/Berlin"}, ms_at(2026, 7, 2, 6)),
        ({"date": "2026-07-02", "time": "08:00", "timezone": "Asia/Kathmandu"}, ms_at(2026, 7, 2, 2, 15)),
        ({"date": "2026-07-02", "time": "08:00:00.2"}, ms_at(2026, 7, 2, 8, 0, 1)),
        ({"date": "2026-03-29", "time": "03:00", "timezone": "Europe/Berlin"}, ms_at(2026, 3, 29, 1)),
        ({"date": "2026-10-25", "time": "03:00", "timezone": "Europe/Berlin"}, ms_at(2026, 10, 25, 2)),
    ],
)
def test_a_time_of_the_clock_is_meant_where_the_zone_says(arguments: dict[str, str], due_ms: int) -> None:
    assert slept_on("sleep_until", arguments).due_ms == due_ms


@pytest.mark.parametrize(
    "arguments",
    [
        {"date": "2026-01-01", "time": "12:00"},
        {"date": "2026-01-01", "time": "11:59:59"},
        {"date": "2026-01-01", "time": "12:30", "timezone": "Europe/Berlin"},
        {"date": "0002-01-01", "time": "00:00"},
    ],
)
def test_a_time_that_is_past_is_due_at_once(arguments: dict[str, str]) -> None:
    assert slept_on("sleep_until", arguments).due_ms == NOON_MS


@pytest.mark.parametrize("zone", ["Europe/Atlantis", "", "Europe", "../UTC", "/etc/passwd", "a\u0000b", "é" * 300])
def test_a_zone_that_nobody_knows_is_refused_with_how_to_name_one(zone: str) -> None:
    told = refusal_of("sleep_until", {"date": "2026-01-02", "time": "08:00", "timezone": zone})

    assert told == "Error: this time zone is not known. Name it as in Europe/Berlin, or give the time in UTC."


def test_a_time_that_the_clocks_jump_over_is_refused_with_the_moment_it_may_mean() -> None:
    told = refusal_of("sleep_until", {"date": "2026-03-29", "time": "02:30", "timezone": "Europe/Berlin"})

    assert "2026-03-29 02:30:00 never comes in Europe/Berlin" in told
    assert "Give 2026-03-29 01:30:00 UTC" in told


def test_a_time_that_comes_twice_is_refused_with_both_moments() -> None:
    told = refusal_of("sleep_until", {"date": "2026-10-25", "time": "02:30", "timezone": "Europe/Berlin"})

    assert "2026-10-25 02:30:00 comes twice in Europe/Berlin" in told
    assert "at 2026-10-25 00:30:00 UTC and at 2026-10-25 01:30:00 UTC" in told


@pytest.mark.parametrize(
    ("date", "time"),
    [("2026-02-30", "08:00"), ("tomorrow", "08:00"), ("2026-01-02", "25:00"), ("2026-01-02", "noon"), ("", "")],
)
def test_what_is_no_date_and_time_is_refused_with_how_to_write_one(date: str, time: str) -> None:
    told = refusal_of("sleep_until", {"date": date, "time": time})

    assert told.startswith("Error: this is no date and time of the calendar. Give the date as")


def test_a_time_with_an_offset_of_its_own_is_refused() -> None:
    assert "name its place in timezone" in refusal_of("sleep_until", {"date": "2026-01-02", "time": "08:00+02:00"})


@pytest.mark.parametrize(("date", "time"), [("9999-12-31", "23:59:59.5"), ("0001-01-01", "00:00")])
def test_a_time_that_no_calendar_can_turn_into_another_zone_is_refused(date: str, time: str) -> None:
    zone = "America/New_York" if date > "2026" else "Asia/Tokyo"

    assert "edge of the calendar" in refusal_of("sleep_until", {"date": date, "time": time, "timezone": zone})


def test_the_last_second_of_the_calendar_is_not_rounded_beyond_it() -> None:
    assert "edge of the calendar" in refusal_of("sleep_until", {"date": "9999-12-31", "time": "23:59:59.5"})
