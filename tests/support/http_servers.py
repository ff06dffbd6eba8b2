"""Tool servers over HTTP as tests use them, and servers that misbehave."""

import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest

from runtime.adapters.http.servers import HttpToolServers
from runtime.adapters.memory.clock import ManualClock
from runtime.errors import HandOverFailed, Unavailable
from runtime.model.toolsets import Invocation, ToolServer
from runtime.settings import Settings

LOOPBACK = ("127.0.0.0/8",)


@dataclass
class Signed:
    """A signer that puts what it signed into a header, and a source of bearer tokens."""

    requests: list[tuple[str, str]] = field(default_factory=list)
    is_down: bool = False

    def sign(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, sign_as: str | None
    ) -> Mapping[str, str]:
        if self.is_down:
            raise Unavailable("no credentials now")
        self.requests.append((method, url))
        return {**headers, "Authorization": f"signed {len(body)}" + (f" as {sign_as}" if sign_as else "")}

    def token(self, secret_arn: str) -> str:
        return f"token of {secret_arn}"


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


class raw_server:  # noqa: N801 - used like a function
    """Sends bytes one at a time to whoever connects, with a pause before each."""

    def __init__(self, answer: bytes, pause_s: float = 0.02) -> None:
        self._answer = answer
        self._pause_s = pause_s
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._stopped = threading.Event()

    def __enter__(self) -> str:
        threading.Thread(target=self._serve, daemon=True).start()
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        while not self._stopped.is_set():
            try:
                connection, _ = self._listener.accept()
                with connection:
                    connection.recv(65_536)
                    self._answer_slowly(connection)
            except OSError:
                continue

    def _answer_slowly(self, connection: socket.socket) -> None:
        for byte in self._answer:
            if self._stopped.wait(self._pause_s):
                return
            connection.send(bytes([byte]))


class closed_port:  # noqa: N801 - used like a function
    """A port that is taken, so that nobody else gets it, and on which nobody listens."""

    def __enter__(self) -> int:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        port: int = self._socket.getsockname()[1]
        return port

    def __exit__(self, *_: object) -> None:
        self._socket.close()
