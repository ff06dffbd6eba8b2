"""Endpoints in front of services: what they pass on unchanged, what they see of it, and whom they kill when."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psycopg
import pytest

from scripts.offline_stack.interposers.database_endpoint import DatabaseEndpoint
from scripts.offline_stack.interposers.http_endpoint import HttpEndpoint
from scripts.offline_stack.interposers.processes import Children
from scripts.offline_stack.interposers.watch import Stage, Trap, Watch
from scripts.offline_stack.journal import Journal
from scripts.offline_stack.supervisor import identify, is_running
from scripts.offline_stack.throwaway import DsnFactory

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
        found = connection.execute("SELECT count(*) FROM notes")
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


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    log = tmp_path / "wire.jsonl"
    return Watched(Watch(Children(identify(os.getpid())), Journal(log)), log)


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


@pytest.fixture
def way(watched: Watched) -> Iterator[Way]:
    service = Service()
    endpoint = HttpEndpoint(f"http://127.0.0.1:{service.server_port}", watched.watch)
    for server in (service, endpoint):
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield Way(service, endpoint)
    endpoint.close()
    service.shutdown()
    service.server_close()


def run_child(code: str, argument: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, argument], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def test_a_request_and_its_answer_pass_as_they_are(way: Way) -> None:
    client = run_child(POSTING, way.endpoint.url)

    assert client.stdout == '202 yes took {"operation": "run"}\n'
    assert way.service.received == [("/call?a=b", "k", b'{"operation": "run"}')]


def test_each_stage_of_an_exchange_is_logged_with_the_process_it_belongs_to(way: Way, watched: Watched) -> None:
    with subprocess.Popen([sys.executable, "-c", POSTING, way.endpoint.url], stdout=subprocess.DEVNULL) as client:
        client.wait(PATIENCE_S)

    assert watched.stages() == [("call tool", "arrived"), ("call tool", "passed on"), ("call tool", "answered")]
    assert {line["pid"] for line in watched.lines()} == {client.pid}
    assert {line["key"] for line in watched.lines()} == {"k"}


@pytest.mark.parametrize(("stage", "times_received"), [("arrived", 0), ("passed on", 1), ("answered", 1)])
def test_a_process_is_killed_at_the_stage_and_gets_no_answer(
    stage: Stage, times_received: int, way: Way, watched: Watched
) -> None:
    trap = watched.kill_at("call tool", stage)

    client = run_child(POSTING, way.endpoint.url)

    assert (client.returncode, client.stdout) == (-9, "")
    kill = trap.wait(PATIENCE_S)
    assert kill is not None
    assert (kill.exchange.what, kill.stage, is_running(kill.process)) == ("call tool", stage, False)
    _until(lambda: len(way.service.received) == times_received)
    assert [line["stage"] for line in watched.lines() if line.get("killed")] == [stage]
    assert watched.stages()[-1] == ("call tool", stage)


def test_a_request_that_was_cut_short_by_a_death_reaches_nobody(way: Way, watched: Watched) -> None:
    with socket.create_connection(("127.0.0.1", way.endpoint.server_port)) as client:
        client.sendall(b'POST /call HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\n{"operation"')
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""

    assert way.service.received == []
    assert not watched.log.exists()


def test_a_trap_springs_once(way: Way, watched: Watched) -> None:
    watched.kill_at("call tool", "arrived")

    assert [run_child(POSTING, way.endpoint.url).returncode for _ in range(2)] == [-9, 0]


def test_a_trap_that_is_lifted_catches_nobody_and_tells_whom_it_caught_before(way: Way, watched: Watched) -> None:
    unsprung = watched.kill_at("call tool", "arrived")
    assert watched.watch.lift(unsprung) is None
    assert run_child(POSTING, way.endpoint.url).returncode == 0

    sprung = watched.kill_at("call tool", "arrived")
    assert run_child(POSTING, way.endpoint.url).returncode == -9
    kill = watched.watch.lift(sprung)
    assert kill is not None
    assert kill.stage == "arrived"


def test_a_process_that_is_no_child_of_the_watched_one_is_never_killed(way: Way, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        watch = Watch(Children(identify(stranger.pid)), Journal(tmp_path / "strangers.jsonl"))
        trap = watch.set_trap(lambda *_: True)
        way.endpoint.watch = watch

        client = run_child(POSTING, way.endpoint.url)
        stranger.communicate(b"\n", PATIENCE_S)

    assert client.returncode == 0
    assert trap.wait(0) is None


@pytest.fixture
def notes(fresh_dsn: DsnFactory) -> str:
    dsn = fresh_dsn()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE notes (note text PRIMARY KEY)")
    return dsn


@pytest.fixture
def database(notes: str, watched: Watched) -> Iterator[str]:
    """The same database, past us."""
    parts = psycopg.conninfo.conninfo_to_dict(notes)
    endpoint = DatabaseEndpoint(int(parts["port"] or 0), watched.watch)
    endpoint.start()
    yield psycopg.conninfo.make_conninfo(notes, port=endpoint.port, sslmode="disable", gssencmode="disable")
    endpoint.close()


def _stored(notes: str) -> int:
    with psycopg.connect(notes) as connection:
        return len(connection.execute("SELECT note FROM notes").fetchall())


def test_transactions_pass_as_they_are_and_a_load_is_told_from_a_commit(
    database: str, notes: str, watched: Watched
) -> None:
    client = run_child(COMMITTING, database)

    assert (client.stdout, _stored(notes)) == ("found 0\n", 1)
    assert watched.stages() == [
        ("load", "arrived"),
        ("load", "answered"),
        ("commit", "arrived"),
        ("commit", "answered"),
    ]


@pytest.mark.parametrize(("stage", "rows"), [("arrived", 0), ("answered", 1)])
def test_a_process_is_killed_before_its_transaction_or_after_the_commit_of_it(
    stage: Stage, rows: int, database: str, notes: str, watched: Watched
) -> None:
    trap = watched.kill_at("commit", stage)

    client = run_child(COMMITTING, database)

    assert (client.returncode, client.stdout) == (-9, "")
    assert trap.wait(PATIENCE_S) is not None
    assert _stored(notes) == rows
    assert watched.stages()[-1] == ("commit", stage)


def _until(holds: Callable[[], bool]) -> None:
    waited = threading.Event()
    for _ in range(int(PATIENCE_S / 0.02)):
        if holds():
            return
        waited.wait(0.02)
    raise AssertionError("it did not become so")
