"""Services behind the endpoints of ours, clients in front of them as processes of their own, and what is seen."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psycopg

from scripts.offline_stack.interposers.http_endpoint import HttpEndpoint
from scripts.offline_stack.interposers.interventions import Stage
from scripts.offline_stack.interposers.watch import Trap, Watch

PATIENCE_S = 20
POSTING = """
import sys, urllib.request
url, body = sys.argv[1] + "/call?a=b", b'{"operation": "run"}'
request = urllib.request.Request(url, data=body, headers={"Idempotency-Key": "k"})
with urllib.request.urlopen(request, timeout=20) as answer:
    print(answer.status, answer.headers["X-Served"], answer.read().decode())
"""
COMMITTING = """
import sys, psycopg
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    with connection.pipeline():
        connection.execute("BEGIN READ ONLY", prepare=False)
        found = connection.execute("SELECT count(*) FROM notes WHERE note <> %s", ("my-thread",))
        connection.execute("COMMIT", prepare=False)
    with connection.pipeline():
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ", prepare=False)
        connection.execute("INSERT INTO notes VALUES (%s)", ("written",))
        connection.execute("COMMIT", prepare=False)
    print("found", found.fetchone()[0])
"""


@dataclass(frozen=True, slots=True)
class Watched:
    watch: Watch
    log: Path

    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def stages(self) -> list[tuple[object, object]]:
        return [(line["what"], line["stage"]) for line in self.lines() if "stage" in line]

    def kill_at(self, what: str, stage: Stage) -> Trap:
        return self.watch.set_trap(lambda exchange, seen: (exchange.what, seen) == (what, stage))


class Service(ThreadingHTTPServer):
    """Keeps what reaches it, and answers each request with its path and body."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.received: list[tuple[str, str, bytes]] = []


class _Answering(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, self.headers["Idempotency-Key"], body))
        self.send_response(202)
        self.send_header("X-Served", "yes")
        self.end_headers()
        self.wfile.write(b"took " + body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the parent class has it
        """Stay quiet."""


@dataclass(frozen=True, slots=True)
class Way:
    """A service behind an endpoint of ours."""

    service: Service
    endpoint: HttpEndpoint


def run_child(code: str, argument: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, argument], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def stored_notes(notes: str) -> int:
    with psycopg.connect(notes) as connection:
        return len(connection.execute("SELECT note FROM notes").fetchall())


def until(holds: Callable[[], bool]) -> None:
    waited = threading.Event()
    for _ in range(int(PATIENCE_S / 0.02)):
        if holds():
            return
        waited.wait(0.02)
    raise AssertionError("it did not become so")
