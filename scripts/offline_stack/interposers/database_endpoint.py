"""A PostgreSQL endpoint in front of another, without TLS: it knows where transactions begin and are committed.

A transaction that may write is a commit, any other a load. The end of one is its COMMIT being done at the server. The
thread it is about is the first value of a load, and on the same connection the commits after it are about that thread.
"""

import contextlib
import socket
import threading
from collections.abc import Callable

from scripts.offline_stack.interposers.interventions import Exchange
from scripts.offline_stack.interposers.watch import Watch
from scripts.offline_stack.postgres_frames import close, exactly, first_value, frame_bytes, number, read_frame

HOST = "127.0.0.1"
# CommandComplete, and what was completed (PostgreSQL manual, "Message Formats").
COMMIT_IS_DONE, ROLLBACK_IS_DONE = (b"C", b"COMMIT\0"), (b"C", b"ROLLBACK\0")
# ErrorResponse, as Aurora DSQL words a conflict.
CONFLICT = b"SERROR\0VERROR\0C40001\0Mchange conflicts with another transaction, please retry: (OC000)\0\0"


class DatabaseEndpoint:
    """Listens on a free port of 127.0.0.1 for the database on `service_port`, from `start` to `close`."""

    def __init__(self, service_port: int, watch: Watch) -> None:
        self._service_port = service_port
        self._watch = watch
        self._listener = socket.create_server((HOST, 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]

    def start(self) -> None:
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accept nothing more. Connections that are open end when one of their sides ends them."""
        close(self._listener)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._open, args=(client,), daemon=True).start()

    def _open(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection((HOST, self._service_port))
        except OSError:
            close(client)
            return
        for each in (client, server):
            # Small messages follow each other here: waiting to fill a packet would cost 40 ms per transaction.
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _Session(client, server, self._watch, self.port).run()


class _Session:
    """One connection, a thread for each direction. Either of them ends both."""

    def __init__(self, client: socket.socket, server: socket.socket, watch: Watch, own_port: int) -> None:
        self._client = client
        self._server = server
        self._watch = watch
        self._process = watch.client_of(client.getpeername()[1], own_port)
        self._transaction: Exchange | None = None
        self._thread: tuple[str, ...] = ()
        self._refusing = False

    def run(self) -> None:
        answers = threading.Thread(target=self._until_closed, args=(self._pass_answers,), daemon=True)
        answers.start()
        self._until_closed(self._pass_requests)
        answers.join()

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
                statement = _statement_in(kind, payload)
                if statement.startswith(b"BEGIN"):
                    self._transaction = self._begun(statement)
                    if self._watch.see(self._transaction, "arrived", self._process) == "end here":
                        return
                elif kind == b"B":
                    self._learn_thread(payload)
                elif statement.startswith(b"COMMIT") and self._transaction is not None:
                    ruling = self._watch.see(self._transaction, "ending", self._process)
                    if ruling == "end here":
                        return
                    if ruling == "conflict":
                        self._refusing, payload = True, payload.replace(b"COMMIT", b"ROLLBACK", 1)
                self._server.sendall(frame_bytes(kind, payload))

    def _pass_answers(self) -> None:
        with self._server.makefile("rb") as frames:
            while True:
                kind, payload = read_frame(frames)
                if (kind, payload) == ROLLBACK_IS_DONE and self._refusing:
                    self._refusing, kind, payload = False, b"E", CONFLICT
                done = self._transaction if (kind, payload) == COMMIT_IS_DONE else None
                if done is not None and self._watch.see(done, "answered", self._process) == "end here":
                    return
                self._client.sendall(frame_bytes(kind, payload))

    def _begun(self, statement: bytes) -> Exchange:
        return Exchange("load") if b"READ ONLY" in statement else Exchange("commit", self._thread)

    def _learn_thread(self, payload: bytes) -> None:
        """Of a load, take the first value that is bound for the thread it is about."""
        load = self._transaction
        if load is not None and load.what == "load" and not load.threads and (value := first_value(payload)):
            self._thread = (value.decode(errors="replace"),)
            self._transaction = Exchange("load", self._thread)


def _statement_in(kind: bytes, payload: bytes) -> bytes:
    """The SQL that a message of the client brings; nothing where it brings none."""
    match kind:
        case b"P":  # Parse: a name, the statement, types of parameters
            return payload.split(b"\0", 2)[1]
        case b"Q":  # Query
            return payload
        case _:
            return b""
