"""How the gate adds up what pytest counted."""

from pathlib import Path

from scripts.commands.counting import count_tests

REPORT = (
    '<testsuites><testsuite tests="{tests}" errors="{errors}" failures="{failures}" skipped="{skipped}"/></testsuites>'
)


def test_reports_are_added_up_and_errors_count_as_failed(tmp_path: Path) -> None:
    (tmp_path / "unit.xml").write_text(REPORT.format(tests=10, errors=1, failures=2, skipped=0))
    (tmp_path / "offline.xml").write_text(REPORT.format(tests=5, errors=0, failures=0, skipped=1))
    assert str(count_tests(tmp_path)) == "11 passed, 3 failed, 1 skipped"


def test_no_report_counts_no_test(tmp_path: Path) -> None:
    assert str(count_tests(tmp_path)) == "0 passed, 0 failed"
