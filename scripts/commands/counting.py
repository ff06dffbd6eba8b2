"""Adds up what pytest counted in the sections of the gate."""

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree  # reads only the reports that pytest has just written


@dataclass(frozen=True, slots=True)
class TestCount:
    """What pytest counted. An error in a fixture counts as failed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "TestCount") -> "TestCount":
        return TestCount(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def count_tests(folder: Path) -> TestCount:
    """Add up the JUnit reports of a folder."""
    counts = [
        _count_suite(suite)
        for report in folder.glob("*.xml")
        for suite in ElementTree.parse(report).getroot().iter("testsuite")  # noqa: S314 - our own file
    ]
    return sum(counts, TestCount())


def _count_suite(suite: ElementTree.Element) -> TestCount:
    tests, errors, failures, skipped = (int(suite.get(name, 0)) for name in ("tests", "errors", "failures", "skipped"))
    return TestCount(tests - errors - failures - skipped, errors + failures, skipped)
