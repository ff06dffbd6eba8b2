"""What a tool server is handed."""

import json
from typing import Any

import pytest

from runtime.adapters.memory.servers import MemoryServer, MemoryToolServers
from runtime.callbacks import Capability, read_token
from runtime.errors import HandOverFailed
from runtime.identity import digest
from runtime.model.entries import ToolResult
from runtime.model.toolsets import Invocation, Notice
from tests.support.values import calls, says
from tests.support.world import World


class Handed:
    """A tool server that notes what it is given, in the place of the world's own."""

    def __init__(self, world: World) -> None:
        self.invocations: list[Invocation] = []
        self.notices: list[Notice] = []
        tool = {"name": "run_build", "description": "Builds.", "inputSchema": {"type": "object"}}
        manifest = {"name": "local", "endpoint": "http://local.invalid/invoke", "tools": [tool]}
        server = MemoryServer(json.dumps(manifest), self.invocations.append, self.notices.append)
        world.put_in(servers=MemoryToolServers({"local": server}))

    @property
    def body(self) -> Any:
        return self.invocations[0].body


def handed(*script: Any, metadata: dict[str, str] | None = None) -> tuple[World, Handed]:
    world = World(script, receiver_url="https://receiver.example/")
    server = Handed(world)
    world.agent.send_text("build", metadata=metadata)
    world.settle()
    return world, server


def test_a_call_is_handed_over_with_all_its_server_needs() -> None:
    _, server = handed(calls("run_build", {"seconds": 5}), metadata={"user_id": "ann"})
    call_id = server.body["id"]
    assert call_id.startswith("call_")
    assert server.body["call_id"].startswith("toolu-")
    assert (server.body["operation"], server.body["arguments"]) == ("run_build", {"seconds": 5})
    assert (server.body["group_id"], server.body["user_id"]) == ("t", "ann")
    assert server.invocations[0].endpoint == "http://local.invalid/invoke"
    assert server.invocations[0].idempotency_key == digest("t", call_id)


def test_nobody_is_named_where_nobody_said_who_asks() -> None:
    _, server = handed(calls("run_build"))
    assert "user_id" not in server.body
    assert "thread_ancestors" not in server.body


def test_the_callback_url_answers_this_call_and_expires_400_days_after_the_commit() -> None:
    world, server = handed(calls("run_build"))
    url = server.body["callback_url"]
    assert url.startswith("https://receiver.example/cb/")
    capability = read_token(url.rpartition("/")[2], world.ports.keyring, world.clock.now_ms())
    assert capability == Capability(
        "t", "t", server.body["id"], "local", expires_at_ms=world.clock.now_ms() + 400 * 86_400 * 1_000
    )


def test_a_call_whose_server_is_no_longer_configured_gets_a_result_that_says_so() -> None:
    world = World([calls("run_build"), says("Gone.")])
    offered = world.system.workers.idle.get()
    settings = world.system.settings.model_copy(update={"tool_servers": ()})
    world.system.workers.idle.put(type(offered)(offered.ports, settings, offered.offers))
    world.say("build")
    world.settle()
    result = world.entries[2].body
    assert isinstance(result, ToolResult)
    assert (result.status, "no longer configured" in str(result.items)) == ("error", True)


@pytest.mark.parametrize("error", [HandOverFailed("it refuses"), TimeoutError()])
def test_a_call_that_was_not_taken_is_told_and_its_real_result_still_arrives(error: Exception) -> None:
    world = World([calls("run_build"), says("It seems lost."), says("It came after all.")])
    answer = []

    def accept(invocation: Invocation) -> None:
        answer.append(invocation)
        raise error

    manifest = json.dumps(
        {
            "name": "local",
            "endpoint": "http://local.invalid/invoke",
            "tools": [{"name": "run_build", "description": "Builds.", "inputSchema": {"type": "object"}}],
        }
    )
    world.put_in(servers=MemoryToolServers({"local": MemoryServer(manifest, accept)}))
    world.say("build")
    world.settle()
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]
    world.answer(answer[0].body["id"], "214 passed")
    world.settle()
    assert world.kinds[4:] == ["event", "assistant"]


def test_the_server_of_a_cancelled_call_is_told_once() -> None:
    world = World(
        [calls("run_build"), calls("cancel_tool_call", {"tool_call_id": "?"}), says("Cancelled.")],
    )
    server = Handed(world)
    world.say("build")
    world.settle()
    call_id = server.body["id"]
    cancel = calls("cancel_tool_call", {"tool_call_id": call_id})
    other = World([cancel, says("Cancelled.")])
    world.put_in(model=other.model)
    world.say("stop it")
    world.settle()
    (notice,) = server.notices
    assert (notice.path, notice.body) == ("/cancel_tool_call", {"thread_id": "t", "tool_call_id": call_id})
    world.answer(call_id, "too late")
    world.settle()
    assert world.kinds[-1] == "assistant"
    assert "event" not in world.kinds
