"""How a failed step of the deployment is told."""

from pathlib import Path

import pytest

from scripts.offline_stack.deployment import why_it_failed
from scripts.offline_stack.supervisor import log_tail

TRACEBACK = "Traceback (most recent call last):\n  File app.py, line 7\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "cdk-synth.log"


def test_a_context_that_the_app_refuses_is_told_in_one_line(log: Path) -> None:
    log.write_text(f"{TRACEBACK}infra.context.ConfigError: dsql_tls=off is for the offline stack only\ntook 3.1 s\n")
    assert why_it_failed("synth", log) == "the app refuses its context: dsql_tls=off is for the offline stack only"


def test_any_other_failure_is_told_with_what_was_printed_last(log: Path) -> None:
    log.write_text(f"{TRACEBACK}ValueError: no ConfigError: at all\n")
    told = why_it_failed("synth", log)
    assert told.startswith("cdk synth failed")
    assert told.endswith("ValueError: no ConfigError: at all")


def test_what_an_earlier_run_printed_is_left_out(log: Path) -> None:
    log.write_text("an earlier run\nthis one\n")
    assert log_tail(log, from_byte=len("an earlier run\n")).splitlines()[1:] == ["this one"]
