"""How long, how much, where to and with which credentials: the bounds of an exchange."""

import math
import ssl
import time

import httpcore
import pytest

from runtime.adapters.http.addresses import AddressPolicy
from runtime.adapters.http.network import AddressRefused, Deadline, GuardedBackend
from runtime.adapters.http.servers import HttpToolServers
from runtime.adapters.memory.clock import ManualClock
from runtime.errors import HandOverFailed, Unavailable
from runtime.model.toolsets import Invocation, Notice, ToolServer
from runtime.wire.rap import MAX_MANIFEST_BYTES
from tests.support.http_servers import LOOPBACK, Signed, closed_port, failure, invocation, made, raw_server
from tests.support.tool_server import ScriptedServer, Step


def test_a_server_that_says_nothing_is_left_after_the_time_for_one_try(
    signed: Signed, clock: ManualClock, scripted: ScriptedServer
) -> None:
    scripted.plan("/call", Step(delay_s=5))
    started = time.monotonic()

    for servers in made(signed, clock, http_total_s=0.2, http_tries=2):
        assert "in time" in failure(servers, invocation(scripted.url))

    assert time.monotonic() - started < 1.5


def test_a_manifest_that_drips_does_not_get_more_time_with_every_byte(
    signed: Signed, clock: ManualClock, scripted: ScriptedServer
) -> None:
    scripted.plan("/.well-known/rap-toolset", Step(body="x" * 100, end="drip"))
    started = time.monotonic()

    for servers in made(signed, clock, http_total_s=0.4, http_tries=1):
        with pytest.raises(HandOverFailed):
            servers.manifest(ToolServer("s", scripted.url))

    assert time.monotonic() - started < 1.5


def test_headers_that_drip_do_not_get_more_time_with_every_byte(signed: Signed, clock: ManualClock) -> None:
    started = time.monotonic()

    with raw_server(b"HTTP/1.1 200 OK\r\n" + b"X-More: and more\r\n" * 100) as url:
        for servers in made(signed, clock, http_total_s=0.4, http_tries=1):
            assert "in time" in failure(servers, invocation(url))

    assert time.monotonic() - started < 1.5


def test_how_an_accepted_calls_answer_ends_does_not_matter(servers: HttpToolServers, scripted: ScriptedServer) -> None:
    scripted.plan("/call", Step(202, body="x" * 200, end="drip"))
    started = time.monotonic()

    servers.invoke(invocation(scripted.url), 5)

    assert time.monotonic() - started < 1.5


def test_a_manifest_larger_than_the_limit_is_not_read_to_its_end(
    servers: HttpToolServers, scripted: ScriptedServer
) -> None:
    scripted.plan("/.well-known/rap-toolset", Step(body="x" * (MAX_MANIFEST_BYTES + 1)))

    with pytest.raises(HandOverFailed, match=str(MAX_MANIFEST_BYTES)):
        servers.manifest(ToolServer("s", scripted.url))


def test_a_base_url_may_have_a_path_and_a_slash_at_its_end(servers: HttpToolServers, scripted: ScriptedServer) -> None:
    scripted.plan("/base/.well-known/rap-toolset", Step(body="{}"))

    assert servers.manifest(ToolServer("s", f"{scripted.url}/base/")) == "{}"


def test_a_port_where_nobody_listens_is_a_refusal_at_once(servers: HttpToolServers, clock: ManualClock) -> None:
    before_ms = clock.now_ms()

    with closed_port() as port:
        reason = failure(servers, invocation(f"http://127.0.0.1:{port}"))

    assert "refused the connection" in reason
    assert clock.now_ms() == before_ms


def test_a_name_nobody_knows_is_a_refusal_at_once(servers: HttpToolServers, clock: ManualClock) -> None:
    before_ms = clock.now_ms()

    assert "name" in failure(servers, invocation("http://nobody.invalid"))
    assert clock.now_ms() == before_ms


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::ffff:127.0.0.1]"])
def test_an_address_the_deployment_does_not_allow_is_not_connected_to_whatever_it_is_called(
    signed: Signed, clock: ManualClock, scripted: ScriptedServer, host: str
) -> None:
    scripted.plan("/call", Step(202))

    for servers in made(signed, clock, allowed_private_networks=()):
        assert "not allowed" in failure(servers, invocation(f"http://{host}:{scripted.port}"))

    assert scripted.requests("/call") == []


def test_proxies_in_the_environment_are_not_used(
    servers: HttpToolServers, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    scripted.plan("/call", Step(202))

    servers.invoke(invocation(scripted.url), 5)

    assert len(scripted.requests("/call")) == 1


def test_a_certificate_nobody_vouches_for_is_a_refusal(servers: HttpToolServers) -> None:
    with raw_server(b"HTTP/1.1 200 OK\r\n\r\n") as url:
        assert "TLS" in failure(servers, invocation(url.replace("http:", "https:")))


def test_credentials_are_sent_to_the_configured_host_only(
    servers: HttpToolServers, scripted: ScriptedServer, signed: Signed
) -> None:
    server = ToolServer("s", "https://tools.example", auth="sigv4")

    assert "another host" in failure(servers, Invocation(server, "https://evil.example/call", {}, "k"))
    assert "https" in failure(servers, Invocation(server, f"{scripted.url}/call", {}, "k"))
    assert signed.requests == []


def test_each_try_is_signed_anew_and_only_for_servers_that_want_it(
    servers: HttpToolServers, scripted: ScriptedServer, signed: Signed
) -> None:
    scripted.plan("/call", Step(503), Step(202))

    servers.invoke(invocation(scripted.url, ToolServer("s", scripted.url, auth="sigv4")), 5)
    with_signature = [got.headers.get("authorization") for got in scripted.requests("/call")]
    scripted.plan("/call", Step(202))
    servers.invoke(invocation(scripted.url), 5)

    assert with_signature == ["signed 15", "signed 15"]
    assert signed.requests == [("POST", f"{scripted.url}/call")] * 2
    assert "authorization" not in scripted.requests("/call")[0].headers


def test_a_server_with_a_bearer_token_gets_its_own_and_no_signature(
    servers: HttpToolServers, scripted: ScriptedServer, signed: Signed
) -> None:
    scripted.plan("/call", Step(202))

    servers.invoke(invocation(scripted.url, ToolServer("s", scripted.url, "bearer", "arn:secret")), 5)

    assert scripted.requests("/call")[0].headers["authorization"] == "Bearer token of arn:secret"
    assert signed.requests == []


def test_missing_credentials_are_not_a_refusal_of_the_tool(
    servers: HttpToolServers, scripted: ScriptedServer, signed: Signed
) -> None:
    signed.is_down = True
    server = ToolServer("s", scripted.url, auth="sigv4")

    with pytest.raises(Unavailable):
        servers.invoke(invocation(scripted.url, server), 5)
    assert servers.notify([Notice(server, "/cancel_tool_call", {})]) == 0


def test_arguments_that_json_does_not_know_are_a_refusal(servers: HttpToolServers, scripted: ScriptedServer) -> None:
    one = Invocation(ToolServer("s", scripted.url), f"{scripted.url}/call", {"x": math.nan}, "k")

    assert "number" in failure(servers, one)


def test_a_call_without_time_left_is_not_started(servers: HttpToolServers, scripted: ScriptedServer) -> None:
    scripted.plan("/call", Step(202))

    failure(servers, invocation(scripted.url), timeout_s=0)

    assert scripted.requests("/call") == []


def test_notices_are_waited_for_one_second_at_most(servers: HttpToolServers, scripted: ScriptedServer) -> None:
    scripted.plan("/cancel_tool_call", Step(delay_s=5))
    scripted.plan("/close_thread", Step(202))
    server = ToolServer("s", scripted.url)
    slow, quick = (Notice(server, path, {"thread_id": "t"}) for path in ("/cancel_tool_call", "/close_thread"))
    started = time.monotonic()

    assert servers.notify([slow] * 40 + [quick]) in (0, 1)
    assert servers.notify([slow, quick, quick]) == 2
    assert time.monotonic() - started < 3


def test_a_manifest_that_is_no_text_is_a_refusal(servers: HttpToolServers) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\xff"

    with raw_server(answer, pause_s=0) as url, pytest.raises(HandOverFailed, match="UTF-8"):
        servers.manifest(ToolServer("s", url))


@pytest.mark.parametrize("answer", [b"220 smtp ready\r\n", b"HTTP/1.1 999999 no\r\n\r\n", b""])
def test_what_is_no_http_leaves_it_open_whether_the_call_arrived(
    signed: Signed, clock: ManualClock, answer: bytes
) -> None:
    with raw_server(answer, pause_s=0) as url:
        for servers in made(signed, clock, http_tries=1):
            assert "may be running" in failure(servers, invocation(url))


def test_a_second_call_uses_the_connection_of_the_first(servers: HttpToolServers, scripted: ScriptedServer) -> None:
    scripted.plan("/call", Step(202, body='{"ok":true}'))

    for _ in range(3):
        servers.invoke(invocation(scripted.url), 5)

    assert len({got.client_port for got in scripted.requests("/call")}) == 1


def test_a_large_answer_nobody_reads_is_not_read(servers: HttpToolServers, scripted: ScriptedServer) -> None:
    scripted.plan("/call", Step(202, body="x" * 5_000_000))

    for _ in range(2):
        servers.invoke(invocation(scripted.url), 5)

    assert len({got.client_port for got in scripted.requests("/call")}) == 2


@pytest.mark.parametrize(
    ("addresses", "is_connected"),
    [
        (["10.0.0.1", "127.0.0.1"], True),
        (["127.0.0.2", "127.0.0.1"], True),
        (["10.0.0.1", "169.254.169.254"], False),
        ([], False),
    ],
)
def test_of_a_names_addresses_the_permitted_ones_are_tried_in_turn(
    scripted: ScriptedServer, addresses: list[str], is_connected: bool
) -> None:
    backend = GuardedBackend(AddressPolicy(LOOPBACK), Deadline(), lambda *_: addresses)

    if not is_connected:
        with pytest.raises(AddressRefused):
            backend.connect_tcp("tools.example", scripted.port, timeout=2)
        return
    stream = backend.connect_tcp("tools.example", scripted.port, timeout=2)
    assert stream.get_extra_info("server_addr") == ("127.0.0.1", scripted.port)
    stream.close()


def test_no_operation_begins_after_the_deadline(scripted: ScriptedServer) -> None:
    deadline = Deadline()
    backend = GuardedBackend(AddressPolicy(LOOPBACK), deadline)
    stream = backend.connect_tcp("127.0.0.1", scripted.port, timeout=2)
    deadline.at = time.monotonic()

    with pytest.raises(httpcore.ReadTimeout):
        stream.read(1, timeout=5)
    with pytest.raises(httpcore.WriteTimeout):
        stream.write(b"x", timeout=5)
    with pytest.raises(httpcore.ConnectTimeout):
        stream.start_tls(ssl.create_default_context(), "localhost", timeout=5)
    with pytest.raises(httpcore.ConnectTimeout):
        backend.connect_tcp("localhost", scripted.port, timeout=5)
    stream.close()


def test_a_token_that_no_header_can_carry_is_a_refusal(servers: HttpToolServers, scripted: ScriptedServer) -> None:
    server = ToolServer("s", scripted.url, "bearer", "line\r\nX-Other: 1")

    assert "could not be formed" in failure(servers, invocation(scripted.url, server))
