"""Manifests, in memory and in DynamoDB."""

import json

import pytest

from runtime.adapters.aws.dynamodb import DynamoManifests
from runtime.adapters.memory.clock import ManualClock
from runtime.adapters.memory.manifests import MemoryManifests
from runtime.model.toolsets import CachedManifest
from runtime.ports import Manifests
from tests.support.clients import create_state_table, dynamodb_client

LIFE_S = 30 * 86_400
ROOT = "root-1"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "dynamodb"])
def manifests(request: pytest.FixtureRequest, clock: ManualClock) -> Manifests:
    if request.param == "memory":
        return MemoryManifests(clock, LIFE_S)
    client = dynamodb_client(request.getfixturevalue("aws_endpoint"))
    return DynamoManifests(client, create_state_table(client), clock, LIFE_S)


def manifest(server: str, manifest_json: str = "{}", fetched_ms: int = 1) -> CachedManifest:
    return CachedManifest(server, manifest_json, fetched_ms)


def test_a_root_nobody_has_written_to_has_none(manifests: Manifests) -> None:
    assert manifests.read(ROOT) == ()


def test_manifests_come_back_as_their_bytes_came(manifests: Manifests) -> None:
    written = (manifest("builds", '{"name" : "büilds\\u00e9 "}', 17), manifest("clock", "not even JSON", 18))
    manifests.write(ROOT, written)

    assert set(manifests.read(ROOT)) == set(written)


def test_roots_do_not_see_each_others_manifests(manifests: Manifests) -> None:
    manifests.write(ROOT, [manifest("builds")])

    assert manifests.read("another") == ()


def test_writing_replaces_all_that_was_kept(manifests: Manifests) -> None:
    manifests.write(ROOT, [manifest("builds", fetched_ms=1), manifest("clock", fetched_ms=1)])
    manifests.write(ROOT, [manifest("builds", fetched_ms=2)])

    assert manifests.read(ROOT) == (manifest("builds", fetched_ms=2),)


def test_writing_none_forgets_all(manifests: Manifests) -> None:
    manifests.write(ROOT, [manifest("builds")])
    manifests.write(ROOT, [])

    assert manifests.read(ROOT) == ()


def test_manifests_are_forgotten_when_their_life_is_over(manifests: Manifests, clock: ManualClock) -> None:
    manifests.write(ROOT, [manifest("builds")])

    clock.advance(LIFE_S - 1)
    assert len(manifests.read(ROOT)) == 1

    clock.advance(1)
    assert manifests.read(ROOT) == ()


def test_the_manifests_of_many_servers_are_kept(manifests: Manifests) -> None:
    written = {manifest(f"server-{number}") for number in range(40)}
    manifests.write(ROOT, sorted(written, key=lambda one: one.server))

    assert set(manifests.read(ROOT)) == written


def test_a_manifest_far_over_the_size_of_an_item_is_kept(manifests: Manifests) -> None:
    tools = [{"name": f"tool_{number}", "description": "Looks up one thing. " * 20} for number in range(2_000)]
    large = manifest("large", json.dumps({"tools": tools}))
    assert len(large.manifest_json) > 800_000
    manifests.write(ROOT, [large])

    assert manifests.read(ROOT) == (large,)
