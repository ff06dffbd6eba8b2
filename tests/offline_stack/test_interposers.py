"""Endpoints in front of services: what they pass on unchanged, what they see of it, and whom they kill when."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.offline_stack.interposers.interventions import Stage
from scripts.offline_stack.interposers.processes import Children
from scripts.offline_stack.interposers.watch import Watch
from scripts.offline_stack.journal import Journal
from scripts.offline_stack.supervisor import identify, is_running
from tests.support.interposed import COMMITTING, PATIENCE_S, POSTING, Watched, Way, run_child, stored_notes, until


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
    until(lambda: len(way.service.received) == times_received)
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


def test_transactions_pass_as_they_are_and_a_load_is_told_from_a_commit(
    database: str, notes: str, watched: Watched
) -> None:
    client = run_child(COMMITTING, database)

    assert (client.stdout, stored_notes(notes)) == ("found 0\n", 1)
    assert watched.stages() == [
        ("load", "arrived"),
        ("load", "ending"),
        ("load", "answered"),
        ("commit", "arrived"),
        ("commit", "ending"),
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
    assert stored_notes(notes) == rows
    assert watched.stages()[-1] == ("commit", stage)
