"""What is said of an outage is true."""

from runtime.errors import Unavailable
from runtime.model.turns import Completion, ModelRequest
from tests.support.world import World


def _away(_request: ModelRequest) -> Completion:
    raise Unavailable("away")


def test_nobody_is_promised_that_a_conversation_goes_on_by_itself_which_no_timer_wakes() -> None:
    world = World(_away, give_ups=0, patience_receives=1)
    world.say("hi")
    world.settle()
    gave_up = world.thread().row.gave_up
    assert gave_up is not None
    assert gave_up.wake_due_ms is None
    assert "by itself" not in gave_up.text
