"""What else is done to exchanges: they are held and released, cut off, or refused; the client lives to see it."""

import subprocess
import sys

import pytest

from scripts.offline_stack.interposers.interventions import Exchange, Stage
from tests.support.interposed import COMMITTING, PATIENCE_S, POSTING, Watched, Way, run_child, stored_notes


@pytest.mark.parametrize("stage", ["arrived", "passed on", "answered"])
def test_a_client_waits_at_the_stage_until_it_is_released_and_then_gets_its_answer(
    stage: Stage, way: Way, watched: Watched
) -> None:
    hold = watched.watch.hold(lambda exchange, seen: (exchange.what, seen) == ("call tool", stage))
    with subprocess.Popen([sys.executable, "-c", POSTING, way.endpoint.url], stdout=subprocess.PIPE) as client:
        held = hold.wait(PATIENCE_S)
        assert held is not None
        assert run_child(POSTING, way.endpoint.url).returncode == 0  # time in which the other one would have ended, too
        assert (held.pid, client.poll()) == (client.pid, None)
        assert _last_stage_of(client.pid, watched) == stage

        hold.release()
        answer, _ = client.communicate(timeout=PATIENCE_S)

    assert answer.startswith(b"202 yes")
    assert _last_stage_of(client.pid, watched) == "answered"


def _last_stage_of(pid: int, watched: Watched) -> object:
    return [line["stage"] for line in watched.lines() if line["pid"] == pid][-1]


def test_only_the_first_process_that_comes_is_held(way: Way, watched: Watched) -> None:
    hold = watched.watch.hold(lambda _, seen: seen == "arrived")
    with subprocess.Popen([sys.executable, "-c", POSTING, way.endpoint.url], stdout=subprocess.DEVNULL) as first:
        assert hold.wait(PATIENCE_S) is not None
        assert run_child(POSTING, way.endpoint.url).returncode == 0
        hold.release()
        assert first.wait(PATIENCE_S) == 0


def test_a_connection_is_cut_off_so_many_times_and_its_client_lives(way: Way, watched: Watched) -> None:
    watched.watch.set_fault(lambda _, seen: seen == "answered", "end here", times=2)

    assert [run_child(POSTING, way.endpoint.url).returncode for _ in range(3)] == [1, 1, 0]
    assert len(way.service.received) == 3


@pytest.mark.parametrize(("stage", "rows"), [("ending", 0), ("answered", 1)])
def test_a_database_connection_is_cut_off_before_or_after_the_commit(
    stage: Stage, rows: int, database: str, notes: str, watched: Watched
) -> None:
    watched.watch.set_fault(lambda exchange, seen: (exchange.what, seen) == ("commit", stage), "end here")

    client = run_child(COMMITTING, database)

    assert (client.returncode, "OperationalError" in client.stderr, stored_notes(notes)) == (1, True, rows)


def test_a_commit_is_refused_as_a_conflict_and_writes_nothing(database: str, notes: str, watched: Watched) -> None:
    watched.watch.set_fault(lambda exchange, seen: (exchange.what, seen) == ("commit", "ending"), "conflict")

    refused, accepted = run_child(COMMITTING, database), run_child(COMMITTING, database)

    assert (refused.returncode, "SerializationFailure" in refused.stderr) == (1, True)
    assert (accepted.returncode, stored_notes(notes)) == (0, 1)
    assert [line["done"] for line in watched.lines() if "done" in line] == ["conflict"]


def test_a_commit_is_about_the_thread_that_was_loaded_before_it(database: str, watched: Watched) -> None:
    run_child(COMMITTING, database)

    threads = {(line["what"], line["stage"]): line.get("threads") for line in watched.lines()}
    assert threads["load", "arrived"] is None
    assert threads["load", "answered"] == threads["commit", "arrived"] == ["my-thread"]


def test_what_a_model_is_asked_is_about_the_thread_that_its_text_names() -> None:
    exchange = Exchange("complete", body=b'{"messages": "for thread-7"}')
    assert (exchange.is_about("thread-7"), exchange.is_about("thread-8")) == (True, False)
