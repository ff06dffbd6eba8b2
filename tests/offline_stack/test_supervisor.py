import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from scripts.offline_stack.state import StackState
from scripts.offline_stack.supervisor import (
    Piece,
    ProcessIdentity,
    ProcessSpec,
    StackError,
    Supervisor,
    announced_port,
    bare_environment,
    identify,
    is_running,
    wait_until_ready,
)

SLEEP = "import time; print('READY 7', flush=True); time.sleep(60)"
WITH_CHILD = (
    "import subprocess, sys, time; "
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "
    "print('READY', child.pid, flush=True); time.sleep(60)"
)


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    supervisor = Supervisor()
    yield supervisor
    supervisor.stop_children()


def python(code: str, folder: Path) -> ProcessSpec:
    return ProcessSpec("a test", [sys.executable, "-c", code], folder / "log", bare_environment(folder), folder)


def started(supervisor: Supervisor, spec: ProcessSpec) -> ProcessIdentity:
    identity = supervisor.start(spec)
    wait_until_ready(spec, identity, lambda: announced_port(spec.log), timeout_s=10)
    return identity


def test_a_process_that_says_ready_is_waited_for_and_can_be_stopped(supervisor: Supervisor, tmp_path: Path) -> None:
    spec = python(SLEEP, tmp_path)
    identity = supervisor.start(spec)

    assert wait_until_ready(spec, identity, lambda: announced_port(spec.log), timeout_s=10) == 7
    assert is_running(identity)
    supervisor.stop(identity)
    assert not is_running(identity)


def test_another_supervisor_stops_a_process_of_an_earlier_one(supervisor: Supervisor, tmp_path: Path) -> None:
    identity = started(supervisor, python(SLEEP, tmp_path))

    Supervisor().stop(identity)

    assert not is_running(identity)


def test_what_a_process_started_is_stopped_with_it(supervisor: Supervisor, tmp_path: Path) -> None:
    spec = python(WITH_CHILD, tmp_path)
    identity = started(supervisor, spec)
    child = identify(announced_port(spec.log) or 0)

    supervisor.stop(identity)

    assert not is_running(child)


def test_a_pid_that_belongs_to_somebody_else_by_now_is_left_alone(supervisor: Supervisor, tmp_path: Path) -> None:
    identity = started(supervisor, python(SLEEP, tmp_path))
    stale = replace(identity, started_at=identity.started_at - 3600)

    assert not is_running(stale)
    Supervisor().stop(stale)

    assert is_running(identity)


def test_a_process_that_dies_while_starting_is_reported_with_the_end_of_its_log(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    spec = python("raise SystemExit('no licence for this machine')", tmp_path)
    identity = supervisor.start(spec)

    with pytest.raises(StackError, match="no licence for this machine"):
        wait_until_ready(spec, identity, lambda: announced_port(spec.log), timeout_s=10)


def test_a_program_is_run_to_its_end_or_stopped_with_its_children_when_it_takes_too_long(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    assert supervisor.run(python("raise SystemExit(3)", tmp_path), timeout_s=10) == 3
    spec = python(WITH_CHILD, tmp_path)
    assert supervisor.run(spec, timeout_s=1) is None
    child_pid = announced_port(spec.log)
    assert child_pid is not None
    assert not _is_alive(child_pid)


def test_nothing_of_the_callers_environment_leaks_into_a_process(tmp_path: Path) -> None:
    os.environ["AWS_PROFILE_OF_A_TEST"] = "production"
    try:
        assert "AWS_PROFILE_OF_A_TEST" not in bare_environment(tmp_path)
    finally:
        del os.environ["AWS_PROFILE_OF_A_TEST"]


def test_a_tethered_process_stops_when_its_parent_is_killed(tmp_path: Path) -> None:
    parent_code = (
        "import os, sys, time; from pathlib import Path; "
        "from scripts.offline_stack.supervisor import *; "
        "folder = Path(sys.argv[1]); "
        f"spec = ProcessSpec('x', [sys.executable, '-c', {SLEEP!r}], folder / 'log', bare_environment(folder), folder,"
        " ['--with-parent', str(os.getpid())]); "
        "child = Supervisor().start(spec); "
        "wait_until_ready(spec, child, lambda: announced_port(spec.log), 10); "
        "print(child.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent_code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = identify(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)

    assert _gone_within(child, 5)


def test_a_saved_state_reads_back_the_same_and_a_missing_one_is_empty(tmp_path: Path) -> None:
    state = StackState({"emulator": Piece(ProcessIdentity(12, 34.5), 4566)}, {"InputQueueUrl": "http://q"}, "/data")

    assert StackState.load(tmp_path) == StackState()
    state.save(tmp_path)
    assert StackState.load(tmp_path) == state


def _is_alive(pid: int) -> bool:
    try:
        return is_running(identify(pid))
    except psutil.NoSuchProcess:
        return False


def _gone_within(identity: ProcessIdentity, patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while is_running(identity) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_running(identity)
