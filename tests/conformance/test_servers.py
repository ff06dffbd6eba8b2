import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest

from runtime.adapters.aws.signing import SigV4Signer
from runtime.adapters.http.servers import HttpToolServers
from runtime.adapters.memory.clock import ManualClock
from runtime.adapters.memory.servers import MemoryServer, MemoryToolServers
from runtime.errors import HandOverFailed
from runtime.model.toolsets import Invocation, Notice, ToolServer
from runtime.ports import ToolServers
from runtime.settings import Settings
from tests.support.tool_server import ScriptedServer, Step, scripted_server

MANIFEST = '{"name": "Builds", "endpoint": "…", "tools": []}'


class Driver(Protocol):
    """One tool server, told how to take what comes: "accept", "refuse", or "lose" it without a word."""

    @property
    def servers(self) -> ToolServers: ...

    @property
    def server(self) -> ToolServer: ...

    def plan(self, *fates: str) -> None: ...

    def calls(self) -> list[tuple[Any, str]]:
        """The bodies that arrived, each with its idempotency key."""

    def notices(self) -> list[Any]: ...


@dataclass
class InMemory:
    server: ToolServer = field(default_factory=lambda: ToolServer("builds", "memory:builds"))
    fates: list[str] = field(default_factory=lambda: ["accept"])
    taken: list[Invocation] = field(default_factory=list)
    told: list[Notice] = field(default_factory=list)

    @property
    def servers(self) -> ToolServers:
        return MemoryToolServers({"builds": MemoryServer(MANIFEST, self.accept, self.notice)})

    def plan(self, *fates: str) -> None:
        self.fates = list(fates)

    def accept(self, invocation: Invocation) -> None:
        self.taken.append(invocation)
        self._meet_fate()

    def notice(self, notice: Notice) -> None:
        self.told.append(notice)
        self._meet_fate()

    def _meet_fate(self) -> None:
        fate = self.fates.pop(0) if len(self.fates) > 1 else self.fates[0]
        if fate == "refuse":
            raise HandOverFailed("the tool server refused the request")
        if fate == "lose":
            raise TimeoutError

    def calls(self) -> list[tuple[Any, str]]:
        return [(one.body, one.idempotency_key) for one in self.taken]

    def notices(self) -> list[Any]:
        return [one.body for one in self.told]


STEPS = {"accept": Step(202), "refuse": Step(403, body="SECRET"), "lose": Step(end="close")}


class NoBearer:
    def token(self, secret_arn: str) -> str:
        raise AssertionError(secret_arn)


@dataclass
class OverHttp:
    scripted: ScriptedServer
    servers: HttpToolServers

    @property
    def server(self) -> ToolServer:
        return ToolServer("builds", self.scripted.url)

    def plan(self, *fates: str) -> None:
        for path in ("/call", "/cancel_tool_call"):
            self.scripted.plan(path, *(STEPS[fate] for fate in fates))

    def calls(self) -> list[tuple[Any, str]]:
        return [(json.loads(got.body), got.headers["idempotency-key"]) for got in self.scripted.requests("/call")]

    def notices(self) -> list[Any]:
        return [json.loads(got.body) for got in self.scripted.requests("/cancel_tool_call")]


def over_http() -> Iterator[Driver]:
    settings = Settings(allowed_private_networks=("127.0.0.0/8",))
    servers = HttpToolServers(settings, SigV4Signer(), NoBearer(), ManualClock())
    with scripted_server() as scripted:
        scripted.plan("/.well-known/rap-toolset", Step(body=MANIFEST))
        yield OverHttp(scripted, servers)
        servers.close()


def in_memory() -> Iterator[Driver]:
    yield InMemory()


@pytest.fixture(params=[in_memory, over_http], ids=["memory", "http"])
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    make: Callable[[], Iterator[Driver]] = request.param
    yield from make()


def invocation(driver: Driver, call_id: str = "call_1") -> Invocation:
    endpoint = f"{driver.server.url}/call"
    return Invocation(driver.server, endpoint, {"id": call_id, "arguments": {"city": "Zürich"}}, f"key-of-{call_id}")


def notice(driver: Driver) -> Notice:
    return Notice(driver.server, "/cancel_tool_call", {"thread_id": "t-1", "tool_call_id": "call_1"})


def test_a_manifest_is_had_as_the_server_wrote_it(driver: Driver) -> None:
    assert driver.servers.manifest(driver.server) == MANIFEST


def test_an_accepted_call_arrives_once_with_its_key(driver: Driver) -> None:
    driver.plan("accept")

    driver.servers.invoke(invocation(driver), timeout_s=5)

    assert driver.calls() == [({"id": "call_1", "arguments": {"city": "Zürich"}}, "key-of-call_1")]


def test_a_refused_call_is_not_tried_again_and_the_servers_own_words_are_not_passed_on(driver: Driver) -> None:
    driver.plan("refuse", "accept")

    with pytest.raises(HandOverFailed) as failed:
        driver.servers.invoke(invocation(driver), timeout_s=5)

    assert "refused" in failed.value.reason
    assert "SECRET" not in failed.value.reason
    assert len(driver.calls()) == 1


def test_a_call_whose_fate_nobody_knows_is_repeated_as_the_same_call(driver: Driver) -> None:
    driver.plan("lose", "lose", "accept")

    driver.servers.invoke(invocation(driver), timeout_s=5)

    assert driver.calls() == [({"id": "call_1", "arguments": {"city": "Zürich"}}, "key-of-call_1")] * 3


def test_a_call_whose_fate_stays_unknown_fails_and_says_that_it_may_be_running(driver: Driver) -> None:
    driver.plan("lose")

    with pytest.raises(HandOverFailed) as failed:
        driver.servers.invoke(invocation(driver), timeout_s=5)

    assert "may be running" in failed.value.reason
    assert len(driver.calls()) == 3


def test_a_server_that_does_not_exist_is_a_refusal(driver: Driver) -> None:
    nobody = ToolServer("nobody", "http://nobody.invalid")

    with pytest.raises(HandOverFailed):
        driver.servers.manifest(nobody)
    with pytest.raises(HandOverFailed):
        driver.servers.invoke(Invocation(nobody, "http://nobody.invalid/call", {}, "key"), timeout_s=5)
    assert driver.servers.notify([Notice(nobody, "/cancel_tool_call", {})]) == 0


def test_notices_that_were_accepted_are_counted(driver: Driver) -> None:
    driver.plan("accept")

    assert driver.servers.notify([notice(driver)] * 3) == 3
    assert driver.notices() == [{"thread_id": "t-1", "tool_call_id": "call_1"}] * 3


@pytest.mark.parametrize("fate", ["refuse", "lose"])
def test_a_notice_that_is_not_accepted_is_not_tried_again(driver: Driver, fate: str) -> None:
    driver.plan(fate)

    assert driver.servers.notify([notice(driver)]) == 0
    assert len(driver.notices()) == 1


def test_no_notices_are_no_work(driver: Driver) -> None:
    assert driver.servers.notify([]) == 0
