"""Commands that are told to stop."""

import argparse
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.commands.files import writable_file
from scripts.commands.stopping import STOP_SIGNALS, Stopped, stoppable


@pytest.fixture
def _foreground() -> Iterator[None]:
    """No signal is ignored, also where the tests themselves were started in the background."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in STOP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_foreground")
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=lambda each: str(each),
)
def test_a_command_that_is_told_to_stop_cleans_up_undisturbed_and_says_why_it_ended(
    number: signal.Signals, status: int
) -> None:
    before = {each: signal.getsignal(each) for each in STOP_SIGNALS}
    cleaned_up: list[str] = []

    def run() -> None:
        with stoppable():
            try:
                signal.raise_signal(number)
            finally:
                signal.raise_signal(signal.SIGINT)  # somebody loses patience
                signal.raise_signal(number)
                cleaned_up.append("all")

    with pytest.raises(Stopped) as stopped:
        run()
    assert (cleaned_up, stopped.value.status) == (["all"], status)
    assert {each: signal.getsignal(each) for each in STOP_SIGNALS} == before


def test_what_a_command_was_started_to_ignore_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stoppable():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_file_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path) -> None:
    assert writable_file(str(tmp_path / "report.json")) == tmp_path / "report.json"
    assert writable_file("report.json") == Path("report.json")
    with pytest.raises(argparse.ArgumentTypeError, match="does not exist"):
        writable_file(str(tmp_path / "nowhere" / "report.json"))
    with pytest.raises(argparse.ArgumentTypeError, match="is a folder"):
        writable_file(str(tmp_path))
