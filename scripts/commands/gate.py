"""`scripts/test`: everything that must hold before a change lands, for people and CI alike.

Sections run from quick to slow, all of them even after a failure, so that one run shows everything there is to mend.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from scripts.bootstrap import ROOT, VENV, cdk_command, tool_environment
from scripts.commands.counting import count_tests

BUILD = ROOT / ".build" / "gate"
TYPED = ("app.py", "runtime", "handlers", "infra", "scripts", "tests")
END_TO_END = "tests/offline"
ROLES = "tests/offline_roles"


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the gate. `check` prints what it finds and says whether it passed."""

    title: str
    check: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Outcome:
    title: str
    passed: bool
    duration_s: float


def main(words: Sequence[str]) -> int:
    """Run the sections. Returns 0 only when every one of them passed."""
    sections = _chosen(words)
    os.chdir(ROOT)
    shutil.rmtree(BUILD, ignore_errors=True)  # an old report must not be counted
    BUILD.mkdir(parents=True)
    console = Console(highlight=False)
    outcomes = [_run_section(section, console) for section in sections]
    _show(outcomes, console)
    print(verdict_of(outcomes))
    print(count_tests(BUILD))
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def _chosen(words: Sequence[str]) -> Sequence[Section]:
    parser = argparse.ArgumentParser(prog="scripts/test", description=(__doc__ or "").split("\n")[0])
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--fast", action="store_true", help="leave out the end-to-end tests on the offline stack")
    choice.add_argument("--roles", action="store_true", help="nothing but the functions under their own roles, offline")
    arguments = parser.parse_args(words)
    if arguments.roles:
        return [Section("every function under its own role", _roles)]
    return SECTIONS[:-1] if arguments.fast else SECTIONS


def verdict_of(outcomes: Sequence[Outcome]) -> str:
    """One line that says which sections there is something to mend in."""
    failed = [outcome.title for outcome in outcomes if not outcome.passed]
    return f"FAILED: {', '.join(failed)}" if failed else "everything passed"


def _run_section(section: Section, console: Console) -> Outcome:
    console.rule(f"[bold]{section.title}", align="left")
    started = time.monotonic()
    passed = section.check()
    return Outcome(section.title, passed, time.monotonic() - started)


def _show(outcomes: Sequence[Outcome], console: Console) -> None:
    table = Table("section", "outcome", "seconds", title="scripts/test", title_justify="left")
    for outcome in outcomes:
        verdict = "[green]passed" if outcome.passed else "[bold red]FAILED"
        table.add_row(outcome.title, verdict, f"{outcome.duration_s:.1f}")
    table.add_row("all", "", f"{sum(outcome.duration_s for outcome in outcomes):.1f}")
    console.print(table)


def _run(*command: str | Path) -> bool:
    sys.stdout.flush()
    # Coverage goes not where another run writes its own.
    environment = {**tool_environment(), "COVERAGE_FILE": str(BUILD / "coverage")}
    return subprocess.run([str(word) for word in command], env=environment, check=False).returncode == 0


def _tool(name: str) -> Path:
    return VENV / "bin" / name


def _format() -> bool:
    return _run(_tool("ruff"), "format", "--check", ".")


def _lint() -> bool:
    return _run(_tool("ruff"), "check", ".")


def _types() -> bool:
    return _run(_tool("mypy"), *TYPED)


def _migrations() -> bool:
    """Have AWS's linter read the migrations: any diagnostic is a failure."""
    statements = BUILD / "migrations.sql"
    with statements.open("w") as output:
        command = [str(_tool("python")), "-m", "scripts.commands.statements"]
        if subprocess.run(command, stdout=output, check=False).returncode != 0:
            return False
    return _run(_tool("dsql-lint"), statements)


def _tests() -> bool:
    coverage = ("--cov", "--cov-report=term:skip-covered")
    elsewhere = (f"--ignore={END_TO_END}", f"--ignore={ROLES}")
    return _pytest(*elsewhere, f"--junitxml={BUILD}/tests.xml", *coverage)


def _synth() -> bool:
    """Synthesize as for an account: cdk-nag's rules run in it, and an unacknowledged finding makes it fail."""
    assembly = BUILD / "cdk.out"
    if not _run(*cdk_command(), "synth", "--quiet", "--no-notices", "--output", assembly):
        return False
    exceptions_printed = _run(_tool("python"), "-m", "infra.report", assembly)
    return exceptions_printed and _run(_tool("cfn-lint"), *assembly.glob("*.template.json"))


def _mutants() -> bool:
    """Take a few rules out of a copy of the code, one at a time: the tests must notice each."""
    return _run(_tool("python"), ROOT / "scripts" / "mutants", "--fast")


def _end_to_end() -> bool:
    return _pytest(
        END_TO_END, "--no-loadscope-reorder", f"--junitxml={BUILD}/offline.xml"
    )  # it has an order of its own


def _roles() -> bool:
    """Take minutes, and one stack for all of it: rights are taken away and given back there."""
    return _run(_tool("pytest"), ROLES, f"--junitxml={BUILD}/roles.xml")


def _pytest(*words: str) -> bool:
    """Run tests on all processors, a file on one of them: what a file has started serves the whole file."""
    return _run(_tool("pytest"), "--numprocesses=auto", "--dist=loadfile", *words)


SECTIONS = (
    Section("format", _format),
    Section("lint", _lint),
    Section("types", _types),
    Section("migrations under dsql-lint", _migrations),
    Section("tests", _tests),
    Section("cdk synth, cdk-nag, cfn-lint", _synth),
    Section("mutants, a fast part of them", _mutants),
    Section("end to end on the offline stack", _end_to_end),
)
