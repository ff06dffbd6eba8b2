"""No sleep outlives the key that its timer is signed with."""

from tests.unit.test_due_times import refusal_of, slept_on


def test_a_time_that_is_more_than_a_year_away_is_refused_with_what_to_do_instead() -> None:
    assert refusal_of("sleep_until", {"date": "2027-01-01", "time": "12:00:01"}) == (
        "Error: this is more than a year away. Sleep a year, and then again."
    )
    assert slept_on("sleep_until", {"date": "2027-01-01", "time": "12:00"}).due_ms is not None
