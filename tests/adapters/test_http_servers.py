"""What a server's answer, or the lack of one, means for a call."""

import json
from email.utils import formatdate

import pytest

from runtime.adapters.http.servers import HttpToolServers
from runtime.adapters.memory.clock import ManualClock
from tests.support.http_servers import failure, invocation
from tests.support.tool_server import ScriptedServer, Step


@pytest.mark.parametrize("status", [200, 202, 204])
def test_any_2xx_is_an_acceptance(servers: HttpToolServers, scripted: ScriptedServer, status: int) -> None:
    scripted.plan("/call", Step(status))

    servers.invoke(invocation(scripted.url), 5)

    [got] = scripted.requests("/call")
    assert (got.method, got.headers["idempotency-key"], json.loads(got.body)) == ("POST", "key-1", {"id": "call_1"})


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422])
def test_a_refusal_is_not_tried_again(servers: HttpToolServers, scripted: ScriptedServer, status: int) -> None:
    scripted.plan("/call", Step(status))

    assert str(status) in failure(servers, invocation(scripted.url))
    assert len(scripted.requests("/call")) == 1


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_a_failure_that_may_pass_is_tried_three_times(
    servers: HttpToolServers, scripted: ScriptedServer, status: int
) -> None:
    scripted.plan("/call", Step(status))

    reason = failure(servers, invocation(scripted.url))

    assert str(status) in reason
    assert "may be running" in reason
    assert len(scripted.requests("/call")) == 3


def test_an_empty_error_of_a_server_still_gives_a_reason(servers: HttpToolServers, scripted: ScriptedServer) -> None:
    scripted.plan("/call", Step(500, body=""))

    assert failure(servers, invocation(scripted.url)).strip()


@pytest.mark.parametrize("end", ["reset", "close"])
def test_a_lost_connection_is_tried_again(servers: HttpToolServers, scripted: ScriptedServer, end: str) -> None:
    scripted.plan("/call", Step(end=end), Step(202))

    servers.invoke(invocation(scripted.url), 5)

    assert len(scripted.requests("/call")) == 2


def test_a_refusal_after_an_unknown_try_does_not_claim_that_the_call_never_arrived(
    servers: HttpToolServers, scripted: ScriptedServer
) -> None:
    scripted.plan("/call", Step(end="close"), Step(409))

    assert "earlier try" in failure(servers, invocation(scripted.url))


def test_a_pause_the_server_asks_for_is_kept(
    servers: HttpToolServers, scripted: ScriptedServer, clock: ManualClock
) -> None:
    scripted.plan("/call", Step(429, {"Retry-After": "3"}), Step(202))
    before_ms = clock.now_ms()

    servers.invoke(invocation(scripted.url), 10)

    assert clock.now_ms() - before_ms == 3_000


def test_a_pause_given_as_a_date_is_kept(
    servers: HttpToolServers, scripted: ScriptedServer, clock: ManualClock
) -> None:
    until_s = clock.now_ms() / 1000 + 4
    scripted.plan("/call", Step(503, {"Retry-After": formatdate(until_s, usegmt=True)}), Step(202))

    servers.invoke(invocation(scripted.url), 10)

    assert clock.now_ms() / 1000 == pytest.approx(until_s, abs=1)


@pytest.mark.parametrize(
    "asked",
    [
        *("soon", "-5", "1e9", "٣", "Mon, 99 Foo"),
        "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "1 Jan 2020 00:00:00 +99999999999999",
    ],
)
def test_a_pause_nobody_can_read_is_our_own_short_one(
    servers: HttpToolServers, scripted: ScriptedServer, clock: ManualClock, asked: str
) -> None:
    scripted.plan("/call", Step(503, {"Retry-After": asked} if asked.isascii() else {}), Step(202))
    before_ms = clock.now_ms()

    servers.invoke(invocation(scripted.url), 5)

    assert clock.now_ms() - before_ms < 1_000


def test_a_pause_longer_than_the_time_left_is_not_waited_for(
    servers: HttpToolServers, scripted: ScriptedServer, clock: ManualClock
) -> None:
    scripted.plan("/call", Step(503, {"Retry-After": "3600"}))
    before_ms = clock.now_ms()

    failure(servers, invocation(scripted.url))

    assert clock.now_ms() == before_ms
    assert len(scripted.requests("/call")) == 1


def test_a_redirect_is_a_refusal_and_is_not_followed(servers: HttpToolServers, scripted: ScriptedServer) -> None:
    scripted.plan("/elsewhere", Step(200))
    scripted.plan("/call", Step(307, {"Location": f"{scripted.url}/elsewhere"}))

    assert "redirect" in failure(servers, invocation(scripted.url))
    assert scripted.requests("/elsewhere") == []
    assert len(scripted.requests("/call")) == 1
