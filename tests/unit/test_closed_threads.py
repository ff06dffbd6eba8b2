"""What comes to a thread that has closed changes nothing, and whoever waits for an answer learns that."""

from runtime.identity import call_id_at
from runtime.own_messages import to_child
from tests.support.values import calls, says
from tests.support.world import World
from tests.unit.test_threads import CHILD, Family, closes, spawns


def test_a_result_that_comes_after_its_thread_closed_is_taken_and_changes_nothing() -> None:
    world = World(
        Family(
            root=[spawns("alpha", ["t"]), says("ok"), says("over")],
            alpha=[calls("run_build"), closes(CHILD)],
        )
    )
    world.say("look")
    world.settle()
    world.ports.queues.send_inputs([to_child(CHILD, call_id_at("t", 2), call_id_at("t", 2), "stop")])
    world.settle()
    closed = world.thread(CHILD)
    for _ in range(3):
        world.calls[0].answer("built")
        world.wait(3_600)
    assert closed.row.closed
    assert world.thread(CHILD).entries == closed.entries
    assert world.system.inputs.receive() == []


def test_who_speaks_to_a_thread_that_has_closed_is_told_so_once() -> None:
    world = World(Family(root=[spawns("alpha", ["t"]), says("ok"), says("it is gone")], alpha=[closes(CHILD)]))
    world.say("look")
    world.settle()
    closed = world.thread(CHILD)
    for _ in range(2):
        world.system.agent(CHILD).send_text("Are you there?", message_id="1")
        world.wait(400)
    told = [output for output in world.agent.outputs() if output["type"] == "error"]
    assert [(output["code"], output["thread_id"], output["root_thread_id"]) for output in told] == [
        ("thread_closed", CHILD, "t")
    ]
    assert world.thread(CHILD) == closed
