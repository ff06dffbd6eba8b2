import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scripts.offline_stack.command import main
from scripts.offline_stack.stack import PIECES, OfflineStack
from scripts.offline_stack.state import StackState
from scripts.offline_stack.supervisor import Piece, ProcessSpec, StackError, Supervisor, bare_environment, is_running


@pytest.fixture
def leftover(tmp_path: Path) -> Iterator[Piece]:
    """A process that an earlier command of the stack in `tmp_path` left running, as its state says."""
    supervisor = Supervisor()
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    identity = supervisor.start(ProcessSpec("x", sleep, tmp_path / "x.log", bare_environment(tmp_path), tmp_path))
    piece = Piece(identity, 4566)
    StackState(pieces={"emulator": piece}, outputs={"InputQueueUrl": "http://q"}).save(tmp_path)
    yield piece
    supervisor.stop_children()


def test_a_stack_that_was_never_up_has_no_pieces_and_says_how_to_get_them(tmp_path: Path) -> None:
    stack = OfflineStack(folder=tmp_path)

    assert stack.status() == dict.fromkeys(PIECES)
    with pytest.raises(StackError, match="scripts/offline up"):
        _ = stack.outputs


def test_going_down_is_safe_to_repeat(tmp_path: Path) -> None:
    OfflineStack(folder=tmp_path).down()
    OfflineStack(folder=tmp_path).down()

    assert OfflineStack(folder=tmp_path).status() == dict.fromkeys(PIECES)


def test_another_process_finds_what_runs_and_takes_it_down(tmp_path: Path, leftover: Piece) -> None:
    stack = OfflineStack(folder=tmp_path)

    assert stack.status()["emulator"] == leftover
    stack.down()

    assert not is_running(leftover.identity)
    assert stack.status()["emulator"] is None


def test_the_environment_points_aws_tools_at_the_stack_and_names_its_outputs(tmp_path: Path, leftover: Piece) -> None:
    state = StackState.load(tmp_path)
    StackState({**state.pieces, "dsql-proxy": Piece(leftover.identity, 5432)}, state.outputs).save(tmp_path)

    environment = OfflineStack(folder=tmp_path).environment

    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566"
    assert environment["INPUT_QUEUE_URL"] == "http://q"
    assert "port=5432" in environment["DATABASE_DSN"]


@pytest.mark.usefixtures("leftover")
def test_a_second_command_waits_for_the_first_and_says_so(tmp_path: Path) -> None:
    first_is_in, let_first_end = threading.Event(), threading.Event()
    shown: list[str] = []

    @contextmanager
    def block(_title: str) -> Iterator[None]:
        first_is_in.set()
        let_first_end.wait(10)
        yield

    @contextmanager
    def show(title: str) -> Iterator[None]:
        shown.append(title)
        let_first_end.set()
        yield

    first = threading.Thread(target=lambda: OfflineStack(folder=tmp_path, progress=block).down())
    first.start()
    assert first_is_in.wait(10)

    OfflineStack(folder=tmp_path, progress=show).down()
    first.join(10)

    assert shown == ["waited for another command that works on this stack"]


@pytest.mark.usefixtures("leftover")
def test_who_has_a_stack_to_itself_may_take_it_down_while_others_wait(tmp_path: Path) -> None:
    ours, theirs = OfflineStack(folder=tmp_path), OfflineStack(folder=tmp_path)
    other = threading.Thread(target=theirs.down)
    with ours.alone():
        other.start()
        other.join(0.2)
        assert other.is_alive()
        assert ours.status()["emulator"] is not None
        ours.down()
    other.join(10)
    assert not other.is_alive()


def test_a_stack_of_which_a_part_is_missing_is_not_up(tmp_path: Path, leftover: Piece) -> None:
    assert not OfflineStack(folder=tmp_path).is_up
    StackState(pieces=dict.fromkeys(PIECES, leftover), outputs={"InputQueueUrl": "http://q"}).save(tmp_path)
    assert OfflineStack(folder=tmp_path).is_up


def test_an_unreadable_option_is_refused_before_anything_starts() -> None:
    with pytest.raises(SystemExit):
        main(["up", "--context", "no equals sign"])
