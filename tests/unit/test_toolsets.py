import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from runtime.adapters.memory.clock import ManualClock
from runtime.adapters.memory.manifests import MemoryManifests
from runtime.adapters.memory.model import ScriptedModel
from runtime.errors import HandOverFailed, Unavailable
from runtime.local import LocalSystem
from runtime.model.toolsets import CachedManifest, Invocation, Notice, ToolServer
from runtime.tools.toolsets import Loaded, Toolsets

REFETCH_S = 600
A, B = ToolServer("a", "https://a.example"), ToolServer("b", "https://b.example")


def manifest(*names: str, **fields: object) -> str:
    tools = [{"name": name, "description": name, "inputSchema": {"type": "object"}} for name in names]
    return json.dumps({"name": "set", "endpoint": "call", "tools": tools, **fields})


@dataclass
class Servers:
    """Tool servers whose manifests change and fail as the test says, with every fetch noted."""

    manifests: dict[str, str] = field(default_factory=lambda: {"a": manifest("a1", "a2"), "b": manifest("b1")})
    failing: dict[str, Exception] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)

    def manifest(self, server: ToolServer) -> str:
        self.fetched.append(server.name)
        if server.name in self.failing:
            raise self.failing[server.name]
        return self.manifests[server.name]

    def invoke(self, invocation: Invocation, timeout_s: float) -> None:
        raise AssertionError((invocation, timeout_s))

    def notify(self, notices: Sequence[Notice]) -> int:
        raise AssertionError(notices)


@dataclass
class CountedManifests:
    """Counts what a store of manifests is asked."""

    inner: MemoryManifests
    reads: int = 0
    writes: int = 0

    def read(self, root_id: str) -> tuple[CachedManifest, ...]:
        self.reads += 1
        return self.inner.read(root_id)

    def write(self, root_id: str, manifests: Sequence[CachedManifest]) -> None:
        self.writes += 1
        self.inner.write(root_id, manifests)


class World:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.servers = Servers()
        self.kept = CountedManifests(MemoryManifests(self.clock, 86_400))
        self.toolsets = self.another_process()
        local = LocalSystem(ScriptedModel([]))
        self.ports = replace(local.ports, manifests=self.kept, servers=self.servers, clock=self.clock)

    def another_process(self, *servers: ToolServer) -> Toolsets:
        return Toolsets(servers or (A, B), REFETCH_S)

    def load(self, toolsets: Toolsets | None = None, root_id: str = "root") -> Loaded:
        return (toolsets or self.toolsets).load(root_id, self.ports)


@pytest.fixture
def world() -> World:
    return World()


def names(loaded: Loaded) -> list[str]:
    return [tool.spec.name for toolset in loaded.toolsets for tool in toolset.tools]


def test_tools_come_in_the_order_of_servers_and_manifests(world: World) -> None:
    assert names(world.load()) == ["a1", "a2", "b1"]
    assert names(world.load(world.another_process(B, A))) == ["b1", "a1", "a2"]


def test_the_steady_state_is_one_read_for_each_root_and_process_and_no_fetch(world: World) -> None:
    world.load()
    world.servers.fetched.clear()
    warm = world.another_process()
    world.kept.reads = world.kept.writes = 0

    first, again = world.load(warm), world.load(warm)

    assert (world.kept.reads, world.kept.writes, world.servers.fetched) == (1, 0, [])
    assert first == again


def test_roots_share_what_was_made_of_their_manifests_also_where_names_are_left_out(world: World) -> None:
    world.servers.manifests["b"] = manifest("a1", "b1")
    first, other = world.load(root_id="one"), world.load(root_id="two")

    assert all(mine is theirs for mine, theirs in zip(first.toolsets, other.toolsets, strict=True))


def test_a_manifest_is_fetched_again_after_its_time(world: World) -> None:
    world.load()
    world.servers.manifests["a"] = manifest("a3")
    world.clock.advance(REFETCH_S - 1)
    before = names(world.load())
    world.clock.advance(1)

    assert before == ["a1", "a2", "b1"]
    assert names(world.load()) == ["a3", "b1"]


def test_what_another_process_fetched_is_not_fetched_again(world: World) -> None:
    world.load()
    other = world.another_process()
    world.load(other)
    world.servers.manifests["a"] = manifest("a3")
    world.clock.advance(REFETCH_S)
    world.load(other)
    world.servers.fetched.clear()

    assert names(world.load()) == ["a3", "b1"]
    assert world.servers.fetched == []


@pytest.mark.parametrize("error", [HandOverFailed("refused"), Unavailable("no credentials now")])
def test_a_server_that_fails_takes_nothing_away_from_the_others(world: World, error: Exception) -> None:
    world.servers.failing["a"] = error

    loaded = world.load()

    assert names(loaded) == ["b1"]
    assert [refusal.server for refusal in loaded.refusals] == ["a"]


def test_the_last_good_manifest_is_served_while_a_fetch_fails_also_in_a_new_process(world: World) -> None:
    world.load()
    world.servers.failing = {"a": HandOverFailed("away"), "b": HandOverFailed("away")}
    world.clock.advance(REFETCH_S)

    here, there = world.load(), world.load(world.another_process())

    assert names(here) == names(there) == ["a1", "a2", "b1"]
    assert here.refusals == there.refusals == ()


def test_a_server_that_came_back_is_offered_within_a_minute(world: World) -> None:
    world.servers.failing["a"] = HandOverFailed("away")
    world.load()
    del world.servers.failing["a"]
    world.clock.advance(59)
    before = names(world.load())
    world.clock.advance(1)

    assert before == ["b1"]
    assert names(world.load()) == ["a1", "a2", "b1"]


def test_an_invalid_set_contributes_nothing_and_is_reported_once(world: World) -> None:
    world.servers.manifests["a"] = manifest("fs.read", "good")

    first = world.load()
    world.clock.advance(REFETCH_S)
    again = world.load()

    assert names(first) == names(again) == ["b1"]
    assert ["fs.read" in refusal.reason for refusal in first.refusals] == [True]
    assert again.refusals == ()


def test_another_invalid_set_of_the_same_server_is_reported_anew(world: World) -> None:
    world.servers.manifests["a"] = manifest("fs.read")
    world.load()
    world.servers.manifests["a"] = manifest("fs.write")
    world.clock.advance(REFETCH_S)

    assert len(world.load().refusals) == 1


def test_a_set_that_turns_bad_is_withdrawn_but_still_keeps_its_names_from_others(world: World) -> None:
    world.servers.manifests["b"] = manifest("a1", "b1")
    shared = world.load()
    world.servers.manifests["b"] = "not a manifest"
    world.clock.advance(REFETCH_S)
    turned_bad = world.load()
    world.servers.manifests["b"] = manifest("b1")
    world.clock.advance(REFETCH_S)

    assert names(shared) == ["a2", "b1"]
    assert names(turned_bad) == ["a2"]
    assert names(world.load()) == ["a1", "a2", "b1"]


def test_a_name_of_two_servers_does_not_come_and_go_with_one_of_them(world: World) -> None:
    world.servers.manifests["b"] = manifest("a1", "b1")
    world.load()
    world.servers.failing["b"] = HandOverFailed("away")
    world.clock.advance(REFETCH_S)

    assert names(world.load()) == ["a2", "b1"]


def test_a_kept_manifest_that_the_rules_of_today_refuse_is_not_served(world: World) -> None:
    world.kept.write("root", [CachedManifest("a", manifest("fs.read"), world.clock.now_ms())])

    assert names(world.load()) == ["a1", "a2", "b1"]


def test_a_server_that_is_configured_no_longer_is_not_offered(world: World) -> None:
    world.load()

    assert names(world.load(world.another_process(B))) == ["b1"]


def test_without_servers_nothing_is_asked_of_anyone(world: World) -> None:
    assert world.load(Toolsets((), REFETCH_S)) == Loaded(())
    assert world.kept.reads == 0


def test_a_process_keeps_a_bounded_number_of_roots(world: World) -> None:
    for number in range(300):
        world.load(root_id=f"root-{number}")
    world.kept.reads = 0

    world.load(root_id="root-299")
    world.load(root_id="root-0")

    assert world.kept.reads == 1
