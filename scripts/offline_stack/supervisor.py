"""Start processes, wait until they answer, and stop exactly those processes again.

A process is known by its pid *and* its start time: a pid alone may belong to somebody else by the time it is stopped.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

LAUNCHER = Path(__file__).with_name("launcher.py")
POLL_S = 0.02
STOP_GRACE_S = 8.0
ORPHAN_GRACE_S = 0.5
LOG_TAIL_LINES = 25
# psutil derives a start time from the boot time, which moves a little when the machine's clock is set.
CLOCK_STEP_S = 2.0

Answer = TypeVar("Answer")


class StackError(Exception):
    """The offline stack cannot go on; the message says what failed and what to do next."""


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process of this machine's present life. `started_at` is in epoch seconds, as the kernel knows it."""

    pid: int
    started_at: float


@dataclass(frozen=True, slots=True)
class Piece:
    """One running process of the stack, and the port of 127.0.0.1 it listens on; 0 where it listens on none."""

    identity: ProcessIdentity
    port: int = 0


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """What to run. `environment` is the whole environment: nothing of the caller's leaks in."""

    name: str
    command: Sequence[str]
    log: Path
    environment: Mapping[str, str]
    folder: Path
    launch_options: Sequence[str] = ()


class Supervisor:
    """Starts processes, and stops any process whose identity it is given, its own or an earlier run's."""

    def __init__(self) -> None:
        self._children: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, spec: ProcessSpec) -> ProcessIdentity:
        """Start a process in a session of its own, its output appended to its log."""
        command = [sys.executable, "-I", "-S", str(LAUNCHER), *spec.launch_options, "--", *spec.command]
        spec.log.parent.mkdir(parents=True, exist_ok=True)
        with spec.log.open("ab") as log:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=spec.folder,
                env=dict(spec.environment),
                start_new_session=True,
            )
        self._children[child.pid] = child
        return identify(child.pid)

    def run(self, spec: ProcessSpec, timeout_s: float) -> int | None:
        """Run a program to its end. Returns its exit status, or None when it was stopped because it took too long.

        It is stopped, with what it started, also when the wait is interrupted.
        """
        identity = self.start(spec)
        try:
            return self._children[identity.pid].wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            self.stop(identity)

    def stop(self, identity: ProcessIdentity, stop_signal: signal.Signals = signal.SIGTERM) -> None:
        """Stop a process and what it started: asked first, killed after `STOP_GRACE_S`.

        What it started and left behind is killed after `ORPHAN_GRACE_S`. A no-op when the process is gone already.
        """
        family = [identity, *_descendants(identity)] if is_running(identity) else []
        if family:
            _signal(identity, stop_signal)
        _survivors([identity], STOP_GRACE_S)
        for each in _survivors(family, ORPHAN_GRACE_S):
            _signal(each, signal.SIGKILL)
        _survivors(family, STOP_GRACE_S)
        child = self._children.pop(identity.pid, None)
        if child is not None:
            child.wait(STOP_GRACE_S)

    def stop_children(self) -> None:
        """Stop whatever this supervisor started and has not stopped, the newest first."""
        for pid in reversed(list(self._children)):
            with contextlib.suppress(psutil.NoSuchProcess):
                self.stop(identify(pid))


def identify(pid: int) -> ProcessIdentity:
    """Name a process that exists now. Raises: psutil.NoSuchProcess."""
    return ProcessIdentity(pid, psutil.Process(pid).create_time())


def is_running(identity: ProcessIdentity) -> bool:
    """Whether this very process is alive (a zombie is not)."""
    try:
        process = psutil.Process(identity.pid)
        same = abs(process.create_time() - identity.started_at) < CLOCK_STEP_S
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until_ready(
    spec: ProcessSpec, identity: ProcessIdentity, ask: Callable[[], Answer | None], timeout_s: float
) -> Answer:
    """Ask again and again until the process gives an answer.

    Raises:
        StackError: it died, or gave no answer in time; the message ends with the tail of its log.
    """
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        answer = ask()
        if answer is not None:
            return answer
        if not is_running(identity):
            raise StackError(f"{spec.name} stopped while starting.\n{log_tail(spec.log)}")
        time.sleep(POLL_S)
    raise StackError(f"{spec.name} gave no sign of life within {timeout_s:.0f} s.\n{log_tail(spec.log)}")


def announced_port(log: Path) -> int | None:
    """Read the port of the newest `READY <port>` line of a log: how our own pieces say that they listen."""
    if not log.exists():
        return None
    for line in reversed(log.read_text(errors="replace").splitlines()):
        word, _, port = line.partition(" ")
        if word == "READY" and port.isdigit():
            return int(port)
    return None


def log_tail(log: Path, lines: int = LOG_TAIL_LINES, from_byte: int = 0) -> str:
    """Cut the last lines of a log, under its path, ready to be shown; what stands before `from_byte` is older news."""
    text = log.read_bytes()[from_byte:].decode(errors="replace") if log.exists() else ""
    return "\n".join([f"--- end of {log}", *text.splitlines()[-lines:]])


def free_port() -> int:
    """Find a port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def bare_environment(temporary_folder: Path, **more: str) -> dict[str, str]:
    """Keep the little of the caller's environment that a piece may see, with a temporary folder of its own."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH") if name in os.environ}
    return kept | {"TMPDIR": str(temporary_folder), "HOME": str(temporary_folder), "PYTHONUNBUFFERED": "1"} | more


def _descendants(identity: ProcessIdentity) -> list[ProcessIdentity]:
    found: list[ProcessIdentity] = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in psutil.Process(identity.pid).children(recursive=True):
            found.append(identify(process.pid))
    return found


def _signal(identity: ProcessIdentity, number: signal.Signals) -> None:
    if is_running(identity):
        with contextlib.suppress(ProcessLookupError):
            os.kill(identity.pid, number)


def _survivors(family: Sequence[ProcessIdentity], patience_s: float) -> list[ProcessIdentity]:
    """Wait until all are gone, or patience ends; a zombie is gone, whoever forgets to collect it."""
    deadline = time.monotonic() + patience_s
    while (alive := [each for each in family if is_running(each)]) and time.monotonic() < deadline:
        time.sleep(POLL_S)
    return alive
