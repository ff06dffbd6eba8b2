"""Budgets hold across a compaction."""

from runtime.model.turns import Completion, ModelRequest
from tests.support.summaries import WINDOW, asks_for_summary, full, summary_requests
from tests.support.values import calls, says
from tests.support.world import World


def _never_done(request: ModelRequest) -> Completion:
    return says("They list.") if asks_for_summary(request) else full(calls("list_activity"))


def test_a_thread_that_is_never_done_stops_also_where_summaries_hide_its_steps() -> None:
    world = World(_never_done, (), model_window_tokens=WINDOW, completions_per_input=20)
    world.say("go")
    for _ in range(100):
        world.system.step()
    assert len(world.model.seen) - len(summary_requests(world.model.seen)) == 20
    assert world.thread().row.summary is not None
    assert world.thread().row.gave_up is not None
