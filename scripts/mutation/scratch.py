"""A copy of the project in which its code may be broken, and its tests run there."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree  # reads only the reports that pytest has just written

from scripts.mutation.catalogue import Mutant, mutated

# Made by other commands from pinned sources and never changed afterwards, so a copy may use them in place.
_SHARED = (".build", ".tools", ".venv")
_REPORT = "mutants-report.xml"
_LONGEST_S = 240


class Hung(Exception):
    """The tests did not end in time."""


@dataclass(frozen=True, slots=True)
class TestRun:
    """What pytest said. `failures` holds, by the id of a test and in one line each, how its cases failed.

    `errors` are failures outside a test's own body: an import, a fixture.
    """

    status: int
    passed: frozenset[str]
    failures: Mapping[str, str]
    errors: Mapping[str, str]
    printed: str

    def failure_of(self, test: str) -> str | None:
        """Return how this test, or the first of its cases that failed, did."""
        return next((how for name, how in self.failures.items() if _is_case(name, test)), None)

    def is_passed(self, test: str) -> bool:
        """Whether at least one case of the test ran, and none of them failed."""
        failed = any(_is_case(name, test) for name in (*self.failures, *self.errors))
        return not failed and any(_is_case(name, test) for name in self.passed)


def _is_case(name: str, test: str) -> bool:
    return name == test or name.startswith(f"{test}[")


@contextmanager
def scratch_copy(root: Path) -> Iterator[Path]:
    """Give a folder with all of the project's files, tracked or not, and its tools within reach."""
    with tempfile.TemporaryDirectory(prefix="infinity-mutants-") as made:
        copy = Path(made) / root.name
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns(".git", *_ignored(root)), symlinks=True)
        for name in _SHARED:
            if (root / name).exists():
                (copy / name).symlink_to(root / name)
        # Checked by content: a change within the second of an older compilation would not be seen by its time.
        compiling = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash"]
        subprocess.run([*compiling, "."], cwd=copy, check=False)  # passes symbolic links by, as those to the tools
        yield copy


def _ignored(root: Path) -> list[str]:
    ignored = root / ".gitignore"
    return [line.strip("/") for line in ignored.read_text().split() if line] if ignored.exists() else []


@contextmanager
def applied(mutant: Mutant, copy: Path) -> Iterator[None]:
    """Make the mutant's changes for as long as the block runs.

    Raises:
        BadCatalogue: a text to change is not there exactly once.
    """
    originals = {change.file: (copy / change.file).read_text() for change in mutant.changes}
    texts = dict(originals)
    for change in mutant.changes:
        texts[change.file] = mutated(texts[change.file], change)
    try:
        for file, text in texts.items():
            (copy / file).write_text(text)
        yield
    finally:
        for file, text in originals.items():
            (copy / file).write_text(text)


def run_tests(copy: Path, tests: Sequence[str], *, keep_compiled: bool) -> TestRun:
    """Run these tests in the copy. `keep_compiled`: its code is the project's own, so what is compiled may stay.

    Raises:
        Hung: they did not end within four minutes.
    """
    report = copy / _REPORT
    report.unlink(missing_ok=True)
    words = ["-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", f"--junitxml={report}", *tests]
    environment = {**os.environ, **({} if keep_compiled else {"PYTHONDONTWRITEBYTECODE": "1"})}
    try:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=copy,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_LONGEST_S,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise Hung from late
    return _read_report(report, tests, done)


def _read_report(report: Path, tests: Sequence[str], done: "subprocess.CompletedProcess[str]") -> TestRun:
    files = {_dotted(test.partition("::")[0]): test.partition("::")[0] for test in tests}
    passed: set[str] = set()
    failures: dict[str, str] = {}
    errors: dict[str, str] = {}
    cases = ElementTree.parse(report).getroot().iter("testcase") if report.exists() else ()  # noqa: S314 - our own file
    for case in cases:
        where = case.get("classname", "")
        name = f"{files.get(where, where)}::{case.get('name')}"
        failure, error = case.find("failure"), case.find("error")
        if failure is not None:
            failures[name] = _one_line(failure)
        elif error is not None:
            errors[name] = _one_line(error)
        elif case.find("skipped") is None:
            passed.add(name)
    return TestRun(done.returncode, frozenset(passed), failures, errors, done.stdout)


def _dotted(file: str) -> str:
    return file.removesuffix(".py").replace("/", ".")


def _one_line(element: ElementTree.Element) -> str:
    return " ".join((element.get("message") or "").split())[:200]
