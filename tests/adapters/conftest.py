"""Tool servers over HTTP for the modules that test them."""

from collections.abc import Iterator

import pytest

from runtime.adapters.http.servers import HttpToolServers
from runtime.adapters.memory.clock import ManualClock
from tests.support.http_servers import Signed, made
from tests.support.tool_server import ScriptedServer, scripted_server


@pytest.fixture(scope="module")
def scripted() -> Iterator[ScriptedServer]:
    with scripted_server() as server:
        yield server


@pytest.fixture
def signed() -> Signed:
    return Signed()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def servers(signed: Signed, clock: ManualClock) -> Iterator[HttpToolServers]:
    yield from made(signed, clock)
