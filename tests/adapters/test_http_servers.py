"""What only HTTP can do to a call: status codes, time, redirects, addresses, credentials."""

import json
import math
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate

import pytest

from runtime.adapters.http.servers import HttpToolServers
from runtime.adapters.memory.clock import ManualClock
from runtime.errors import HandOverFailed, Unavailable
from runtime.model.toolsets import Invocation, Notice, ToolServer
from runtime.settings import Settings
from runtime.wire.rap import MAX_MANIFEST_BYTES
from tests.support.tool_server import ScriptedServer, Step, scripted_server

LOOPBACK = ("127.0.0.0/8",)


@dataclass
class Signed:
    """A signer that puts what it signed into a header, and a source of bearer tokens."""

    requests: list[tuple[str, str]] = field(default_factory=list)
    is_down: bool = False

    def sign(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Mapping[str, str]:
        if self.is_down:
            raise Unavailable("no credentials now")
        self.requests.append((method, url))
        return {**headers, "Authorization": f"signed {len(body)}"}

    def token(self, secret_arn: str) -> str:
        return f"token of {secret_arn}"


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


def made(signed: Signed, clock: ManualClock, **settings: object) -> Iterator[HttpToolServers]:
    given = {"allowed_private_networks": LOOPBACK, "http_total_s": 2, "http_connect_s": 1, **settings}
    servers = HttpToolServers(Settings.model_validate(given), signed, signed, clock)
    yield servers
    servers.close()


def invocation(url: str, server: ToolServer | None = None) -> Invocation:
    return Invocation(server or ToolServer("s", url), f"{url}/call", {"id": "call_1"}, "key-1")


def failure(servers: HttpToolServers, one: Invocation, timeout_s: float = 5) -> str:
    with pytest.raises(HandOverFailed) as failed:
        servers.invoke(one, timeout_s)
    return failed.value.reason


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


@pytest.mark.parametrize("asked", ["soon", "-5", "1e9", "٣", "Mon, 99 Foo"])
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


class raw_server:  # noqa: N801 - used like a function
    """Sends bytes one at a time to whoever connects."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._stopped = threading.Event()

    def __enter__(self) -> str:
        threading.Thread(target=self._serve, daemon=True).start()
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._listener.close()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            for byte in self._answer:
                if self._stopped.wait(0.02):
                    return
                try:
                    connection.send(bytes([byte]))
                except OSError:
                    return


class closed_port:  # noqa: N801 - used like a function
    """A port that is taken, so that nobody else gets it, and on which nobody listens."""

    def __enter__(self) -> int:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        port: int = self._socket.getsockname()[1]
        return port

    def __exit__(self, *_: object) -> None:
        self._socket.close()
