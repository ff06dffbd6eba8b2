"""A thread whose tool has asked its user something."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from runtime.model.toolsets import Invocation
from runtime.ports import ToolServers
from tests.support.values import calls
from tests.support.world import World


class Asking:
    """A world in which the tool has asked its user which of three colours it should be, and notes what it is told."""

    def __init__(self, *further: Any) -> None:
        self.told: list[int] = []
        self.world = World([calls("run_build"), *further])
        self.world.on_call = lambda call: call.ask("Which?", ["red", "green", "blue"], self.told.append, default=1)
        self.world.say("paint it")
        self.world.settle()
        self.shown = [output for output in self.world.agent.outputs() if output["type"] == "user_choice_required"]

    @property
    def choice_id(self) -> str:
        choice_id: str = self.shown[0]["choice_id"]
        return choice_id

    def choose(self, selected: int) -> None:
        self.world.agent.choose(self.choice_id, selected)
        self.world.settle()

    def completed(self) -> list[str]:
        outputs = self.world.agent.outputs()
        return [output["choice_id"] for output in outputs if output["type"] == "user_choice_complete"]

    @contextmanager
    def while_the_tool_cannot_be_told(self, failure: Exception) -> Iterator[None]:
        """Have every call of a tool server end with this."""
        servers = self.world.ports.servers
        self.world.put_in(servers=_Failing(servers, failure))
        yield
        self.world.put_in(servers=servers)


class _Failing:
    def __init__(self, servers: ToolServers, failure: Exception) -> None:
        self.manifest, self.notify = servers.manifest, servers.notify
        self._failure = failure

    def invoke(self, _invocation: Invocation, _timeout_s: float) -> None:
        raise self._failure
