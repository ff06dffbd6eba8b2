"""What the set-up of the tools can promise without a network."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import bootstrap

COMMANDS = ("bench", "chat", "demo", "enqueue", "offline", "test")


def test_the_tools_of_this_checkout_are_current_after_any_command_ran() -> None:
    bootstrap.bring_up_to_date()
    assert bootstrap.node().exists()
    assert subprocess.run(
        [*bootstrap.cdk_command(), "--version"], env=bootstrap.tool_environment(), check=False, capture_output=True
    ).stdout


@pytest.mark.parametrize("path", [Path(bootstrap.__file__), *(bootstrap.ROOT / "scripts" / name for name in COMMANDS)])
def test_what_runs_before_the_tools_are_there_can_be_read_by_an_old_python(path: Path) -> None:
    assert ast.parse(path.read_text(), feature_version=(3, 7))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_explains_itself_from_any_folder(command: str, tmp_path: Path) -> None:
    program = bootstrap.ROOT / "scripts" / command
    shown = subprocess.run(
        [sys.executable, program, "--help"], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert shown.returncode == 0
    assert f"usage: scripts/{command}" in shown.stdout


def test_a_failed_step_says_whether_the_network_was_to_blame(tmp_path: Path) -> None:
    log = tmp_path / "pip.log"
    log.write_text("NewConnectionError: [Errno -3] Temporary failure in name resolution\nERROR: no matching version\n")
    assert "check the network" in bootstrap._failure("Python packages", log)
    log.write_text("ERROR: something else\n")
    assert "check the network" not in bootstrap._failure("Python packages", log)
    assert "ERROR: something else" in bootstrap._failure("Python packages", log)


def test_a_link_is_never_followed_to_an_environment_that_others_use(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "kept").touch()
    copied = tmp_path / "checkout"
    shutil.copytree(bootstrap.ROOT / "scripts", copied / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(bootstrap.ROOT / "requirements.txt", copied)
    (copied / ".venv").symlink_to(theirs)
    ended = subprocess.run([sys.executable, copied / "scripts" / "test"], capture_output=True, text=True, check=False)
    assert "is a link" in ended.stderr
    assert (theirs / "kept").exists()


def test_every_pin_is_exact_and_no_file_names_a_registry() -> None:
    pinned = [bootstrap.ROOT / "requirements.txt", bootstrap.ROOT / "runtime" / "requirements.txt"]
    for line in (line for path in pinned for line in path.read_text().splitlines() if not line.startswith((" ", "#"))):
        assert "==" in line
    for path in [*pinned, bootstrap.CDK_CLI_LOCK]:
        assert "://" not in path.read_text()


def test_what_the_layer_ships_is_what_is_tested_here() -> None:
    def pins(path: Path) -> set[str]:
        return {line.split()[0] for line in path.read_text().splitlines() if line and line[0].isalnum()}

    assert pins(bootstrap.ROOT / "runtime" / "requirements.txt") <= pins(bootstrap.ROOT / "requirements.txt")


def test_a_python_that_is_too_old_says_so_where_no_newer_one_is_found() -> None:
    program = "import sys; sys.version_info = (3, 9, 1); from scripts.bootstrap import ensure_environment as e; e()"
    refused = subprocess.run(
        [sys.executable, "-c", program],
        cwd=bootstrap.ROOT,
        env={"PATH": ""},
        check=False,
        capture_output=True,
        text=True,
    )
    assert refused.returncode == 1
    assert refused.stderr == "error: Python 3.11 or newer is needed; this is 3.9.1 and no newer one is on PATH\n"
