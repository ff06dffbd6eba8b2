"""What a root thread is offered, and who is told what is not."""

import json
from typing import Any

from runtime.adapters.memory.servers import MemoryServer, MemoryToolServers
from runtime.local import LocalSystem, LocalTool
from runtime.tools.builtin import BUILTINS
from tests.support.values import says
from tests.support.world import World


def manifest(*names: str) -> str:
    tools = [{"name": name, "description": "A tool.", "inputSchema": {"type": "object"}} for name in names]
    return json.dumps({"name": "local", "endpoint": "http://local.invalid/invoke", "tools": tools})


def world_offered(*names: str) -> World:
    world = World(lambda _: says("Hello."))
    world.put_in(servers=MemoryToolServers({"local": MemoryServer(manifest(*names), lambda _: None)}))
    return world


def offered(world: World) -> list[str]:
    return [spec.name for spec in world.model.seen[-1].tools]


def test_tools_of_servers_come_first_and_built_in_ones_last_in_the_same_order_each_time() -> None:
    world = world_offered("zeta", "alpha")
    for text in ("a", "b"):
        world.say(text)
        world.settle()
        assert offered(world)[:2] == ["zeta", "alpha"]
        assert offered(world)[2:] == [builtin.spec.name for builtin in BUILTINS]
    assert world.model.seen[0].tools == world.model.seen[1].tools


def test_a_name_the_model_refuses_is_reported_once_and_the_rest_goes_on() -> None:
    world = world_offered("fs.read")
    for text in ("a", "b"):
        world.say(text)
        world.settle()
    assert [code for kind, code in world.outputs() if kind == "error"] == ["tool_refused"]
    assert offered(world) == [builtin.spec.name for builtin in BUILTINS]
    assert world.kinds == ["user", "assistant"] * 2


def test_roots_that_are_offered_the_same_share_it() -> None:
    seen: list[Any] = []

    class Model:
        def complete(self, request: Any, timeout_s: float) -> Any:
            assert timeout_s > 0
            seen.append(request.tools)
            return says("Hello.")

    tool = LocalTool("look", "Looks.", {"type": "object"}, lambda _: None)
    system = LocalSystem(Model(), [tool])
    for number in range(3):
        system.agent(f"agent-{number}").send_text("hello")
    system.settle()
    assert len(seen) == 3
    assert len({id(tools) for tools in seen}) == 1
