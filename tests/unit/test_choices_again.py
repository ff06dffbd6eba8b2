"""A choice that is said to be still open can still be made."""

from runtime.errors import HandOverFailed
from runtime.identity import call_id_at
from runtime.own_messages import to_child
from tests.support.asking import Asking
from tests.support.values import calls, says
from tests.support.world import World
from tests.unit.test_threads import CHILD, Family, closes, spawns


def test_a_choice_that_could_not_be_passed_on_can_be_made_again() -> None:
    asking = Asking()
    with asking.while_the_tool_cannot_be_told(HandOverFailed("it answered 500")):
        asking.choose(2)
    outputs = list(asking.world.agent.outputs())
    again = [output["choice_id"] for output in outputs if output["type"] == "user_choice_required"]
    asking.world.clock.advance(400)
    asking.world.agent.choose((again or [asking.choice_id])[0], 2)
    asking.world.settle()
    assert asking.told == [2]


def test_what_a_thread_had_asked_is_taken_back_when_it_closes() -> None:
    family = Family(
        root=[spawns("alpha", ["t"]), says("ok"), says("it is gone")],
        alpha=[calls("run_build"), closes(CHILD)],
    )
    world = World(family)
    world.on_call = lambda call: call.ask("Which?", ["red", "green"], lambda _: None)
    world.say("paint")
    world.settle()
    world.ports.queues.send_inputs([to_child(CHILD, call_id_at("t", 2), call_id_at("t", 2), "stop")])
    world.settle()
    said = [(output["type"], output["thread_id"]) for output in world.agent.outputs()]
    assert said.count(("user_choice_required", CHILD)) == 1
    assert said.count(("user_choice_complete", CHILD)) == 1
