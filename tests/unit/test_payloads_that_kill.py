"""A message whose content ends the process when it is fetched is given up on like any other."""

from contextlib import suppress
from typing import Any

from runtime.model.entries import PayloadRef
from runtime.model.messages import Message, MessageKey, ResultContent
from tests.support.crashing import ProcessDied
from tests.support.values import calls, says
from tests.support.world import World


def test_a_payload_that_ends_the_process_is_withheld() -> None:
    world = World([calls("run_build"), says("on"), says("again")], visibility_s=30)
    world.say("go")
    world.settle()

    class Deadly:
        def get(self, _ref: Any) -> bytes:
            raise ProcessDied

    world.put_in(payloads=Deadly())
    call_id = world.calls[0].call_id
    content = ResultContent(call_id, (), payload=PayloadRef("k", 10))
    world.ports.queues.send_inputs([Message("t", MessageKey("tool_result", f"result:{call_id}"), content, "x")])
    for _ in range(12):
        with suppress(ProcessDied):
            world.settle()
        world.clock.advance(31)
    assert world.thread().calls[call_id].state == "answered"
    assert "died" in [entry.withheld for entry in world.entries]
