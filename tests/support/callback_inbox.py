"""Stands for the runtime's receiver towards a tool server: a real HTTP server that keeps what is posted to it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, Queue
from typing import Any

WAIT_S = 10


@dataclass(frozen=True, slots=True)
class Callback:
    path: str
    key: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Inbox:
    """`answers` are the statuses and bodies of the next answers; with none left it takes everything."""

    port: int
    answers: list[tuple[int, str]] = field(default_factory=list)
    got: Queue[Callback] = field(default_factory=Queue)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/cb/token"

    def next(self) -> Callback:
        """Return the next callback, which is waited for."""
        return self.got.get(timeout=WAIT_S)

    def waiting(self) -> list[Callback]:
        """Return those that have come and were not looked at."""
        found: list[Callback] = []
        try:
            while True:
                found.append(self.got.get_nowait())
        except Empty:
            return found

    def invocation(self, operation: str, arguments: object, **fields: object) -> dict[str, object]:
        """Return the body of a call whose results come here."""
        call = {"operation": operation, "arguments": arguments, "id": "call_1", "call_id": None, "group_id": "t-1"}
        return {**call, "callback_url": self.url, **fields}


@contextmanager
def callback_inbox() -> Iterator[Inbox]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = inbox.answers.pop(0) if inbox.answers else (200, '{"ok":true}')
            inbox.got.put(Callback(self.path, self.headers.get("Idempotency-Key", ""), body))
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        inbox = Inbox(server.server_address[1])
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield inbox
        server.shutdown()
