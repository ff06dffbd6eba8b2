"""The demo's scenarios on a real deployment: judged by what was stored and logged, not by having got an answer."""

import pytest
from rich.console import Console

from scripts.demonstration.command import NAMES, run_scenario
from scripts.offline_stack.stack import OfflineStack


@pytest.mark.parametrize("name", NAMES)
def test_every_promise_of_the_scenario_is_kept(name: str, stack: OfflineStack) -> None:
    verdict = run_scenario(name, stack, Console(width=120))
    assert verdict.ok, verdict.why
