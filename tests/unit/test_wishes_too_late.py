"""What a tool asks of its user when the thread that would have waited for it has closed."""

import pytest

from runtime.identity import call_id_at, child_id
from runtime.local import LocalCall
from runtime.model.outputs import Output
from runtime.own_messages import to_child
from runtime.ports import Queues
from tests.support.values import calls, says
from tests.support.world import World
from tests.unit.test_threads import CHILD, Family, closes, spawns

GRANDCHILD = child_id(CHILD, call_id_at(CHILD, 4))


class DyingBeforeItIsShown:
    """Queues whose process dies when a user is to be asked."""

    def __init__(self, queues: Queues) -> None:
        self.send_inputs = queues.send_inputs
        self._queues = queues

    def send_outputs(self, outputs: list[Output]) -> None:
        if any(output.type == "user_choice_required" for output in outputs):
            raise KeyboardInterrupt
        self._queues.send_outputs(outputs)


def test_what_a_thread_below_was_about_to_ask_is_not_asked_once_it_has_closed() -> None:
    family = Family(
        root=[spawns("alpha", ["t"]), *[says("ok")] * 5],
        alpha=[spawns("beta", ["t", CHILD]), says("on it"), says("on it"), closes(CHILD)],
        beta=[calls("run_build"), says("hello"), says("hello")],
    )
    world = World(family)
    queues = world.ports.queues

    def ask(call: LocalCall) -> None:
        call.ask("Which?", ["red", "green"], lambda _: None)
        world.system.agent(GRANDCHILD).send_text("hello?")

    world.on_call = ask
    world.put_in(queues=DyingBeforeItIsShown(queues))
    world.say("paint")
    with pytest.raises(KeyboardInterrupt):
        world.settle()
    world.put_in(queues=queues)
    queues.send_inputs([to_child(CHILD, call_id_at("t", 2), call_id_at("t", 2), "stop")])
    world.settle()
    assert not world.thread(GRANDCHILD).is_open

    world.wait(400)

    assert "user_choice_required" not in [output["type"] for output in world.agent.outputs()]
