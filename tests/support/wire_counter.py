"""A listener between a PostgreSQL client and its server: counts what really goes over the wire, and loses it on wish.

Counting in a wrapper of the client would count what we meant to send. An exchange is one point where the client waits:
a Sync of the extended protocol, or a simple query.
"""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from scripts.offline_stack.postgres_frames import close, exactly, frame_bytes, number, read_frame

CONFLICT = b"SERROR\0VERROR\0C40001\0Mchange conflicts with another transaction (OC000)\0\0"
UNAVAILABLE = b"SERROR\0VERROR\0CXX000\0Mserver unavailable\0\0"
TRANSACTION_WORDS = ("BEGIN", "COMMIT", "ROLLBACK")

CommitFate = Literal["conflict", "unavailable", "lost before", "lost after"]


@dataclass
class WireCounter:
    """What passed since the last `reset`, over all connections, and what is to happen to the next commits.

    `fates`, one per COMMIT of a transaction that may write: "conflict" answers it with 40001, having rolled back;
    "unavailable" lets it happen and answers with XX000; "lost before" closes the connection instead of passing it on;
    "lost after" lets it happen and closes the connection instead of passing on the answer.
    `refusals`: so many connections are closed at once. `breaks`: for each text the next statement that holds it breaks
    its connection.
    """

    port: int = 0
    connections: int = 0
    exchanges: int = 0
    bytes_sent: int = 0
    rows: int = 0
    statements: list[str] = field(default_factory=list)
    parsed: list[str] = field(default_factory=list)
    fates: list[CommitFate] = field(default_factory=list)
    breaks: list[str] = field(default_factory=list)
    refusals: int = 0
    clients: list[socket.socket] = field(default_factory=list)

    def reset(self) -> None:
        self.connections = self.exchanges = self.bytes_sent = self.rows = 0
        self.statements, self.parsed = [], []

    def close_connections(self) -> None:
        """Close every connection as a server does that has had enough."""
        for client in self.clients:
            close(client)
        self.clients.clear()


@contextlib.contextmanager
def counting(host: str, port: int) -> Iterator[WireCounter]:
    """Listen on a port of 127.0.0.1 and pass everything on to a PostgreSQL server, without TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        counter = WireCounter(port=listener.getsockname()[1])
        threading.Thread(target=_accept, args=(listener, counter, (host, port)), daemon=True).start()
        try:
            yield counter
        finally:
            close(listener)  # shut down too, or the thread that waits in it would accept one more
            counter.close_connections()


def _accept(listener: socket.socket, counter: WireCounter, server: tuple[str, int]) -> None:
    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            counter.connections += 1
            if counter.refusals:
                counter.refusals -= 1
                close(client)
                continue
            counter.clients.append(client)
            try:
                _Session(counter, client, socket.create_connection(server)).start()
            except OSError:
                close(client)


class _Session:
    """One connection: a thread for each direction, frame by frame."""

    def __init__(self, counter: WireCounter, client: socket.socket, server: socket.socket) -> None:
        self._counter = counter
        self._client = client
        self._server = server
        self._prepared: dict[bytes, str] = {}
        self._bound: dict[bytes, str] = {}
        self._writing = False
        self._fate: CommitFate | None = None

    def start(self) -> None:
        for direction in (self._pass_requests, self._pass_answers):
            threading.Thread(target=self._until_closed, args=(direction,), daemon=True).start()

    def _until_closed(self, direction: Callable[[], None]) -> None:
        with contextlib.suppress(OSError, EOFError):
            direction()
        close(self._client)
        close(self._server)

    def _pass_requests(self) -> None:
        with self._client.makefile("rb") as frames:
            length = exactly(frames, 4)
            self._server.sendall(length + exactly(frames, number(length) - 4))  # the start-up message has no type
            while True:
                kind, payload = read_frame(frames)
                self._counter.bytes_sent += len(payload)
                self._server.sendall(frame_bytes(kind, self._noted(kind, payload)))

    def _pass_answers(self) -> None:
        with self._server.makefile("rb") as frames:
            while True:
                kind, payload = read_frame(frames)
                self._counter.rows += kind == b"D"
                if self._fate == "lost after":
                    if kind == b"Z":
                        return
                    continue
                if self._fate == "conflict" and (kind, payload) == (b"C", b"ROLLBACK\0"):
                    kind, payload, self._fate = b"E", CONFLICT, None
                if self._fate == "unavailable" and (kind, payload) == (b"C", b"COMMIT\0"):
                    kind, payload, self._fate = b"E", UNAVAILABLE, None
                self._client.sendall(frame_bytes(kind, payload))

    def _noted(self, kind: bytes, payload: bytes) -> bytes:
        """Count a request and return it as it is to be passed on."""
        match kind:
            case b"P":
                return self._parsed(*payload.split(b"\0", 2))
            case b"B":
                portal, name, _ = payload.split(b"\0", 2)
                self._bound[portal] = self._prepared[name]
            case b"E":
                self._note(self._bound[payload.split(b"\0", 1)[0]])
            case b"Q":
                self._note(payload.rstrip(b"\0").decode())
                self._counter.exchanges += 1
            case b"S":
                self._counter.exchanges += 1
        return payload

    def _parsed(self, name: bytes, text: bytes, rest: bytes) -> bytes:
        self._prepared[name] = text.decode()
        self._counter.parsed.append(text.decode())
        if text.startswith(b"BEGIN"):
            self._writing = b"READ ONLY" not in text
        if text == b"COMMIT" and self._writing:
            text = self._commit_or_not()
        return b"\0".join((name, text, rest))

    def _note(self, statement: str) -> None:
        if self._counter.breaks and self._counter.breaks[0] in statement:
            self._counter.breaks.pop(0)
            raise EOFError
        if not statement.startswith(TRANSACTION_WORDS):
            self._counter.statements.append(statement)

    def _commit_or_not(self) -> bytes:
        self._fate = self._counter.fates.pop(0) if self._counter.fates else None
        if self._fate == "lost before":
            raise EOFError
        return b"ROLLBACK" if self._fate == "conflict" else b"COMMIT"
