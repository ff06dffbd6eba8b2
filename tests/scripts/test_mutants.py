"""`scripts/mutants` on a project of three files."""

from pathlib import Path

import pytest

from scripts.mutation.command import main
from scripts.mutation.table import PAGE

CODE = "def added(a: int, b: int) -> int:\n    return a + b\n"
TESTS = """
from sums import added

def test_one_and_one_are_two():
    assert added(1, 1) == 2

def test_nothing_and_nothing_are_nothing():
    assert added(0, 0) == 0
"""
RULES = '[[section]]\ntitle = "Sums"\n[[section.rule]]\nname = "sum"\nsays = "Sums are right."\n'
RIGHT = "test_one_and_one_are_two"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "tests" / "mutants").mkdir(parents=True)
    (root / "docs").mkdir()
    (root / "sums.py").write_text(CODE)
    (root / "tests" / "test_sums.py").write_text(TESTS)
    (root / "tests" / "mutants" / "rules.toml").write_text(RULES)
    return root


def put(project: Path, name: str, new: str, *tests: str, old: str = "a + b") -> None:
    named = ", ".join(f'"tests/test_sums.py::{test}"' for test in tests)
    text = f'rules = ["sum"]\ntests = [{named}]\n[[change]]\nfile = "sums.py"\nold = "{old}"\nnew = "{new}"\n'
    (project / "tests" / "mutants" / f"{name}.toml").write_text(text)


def test_a_mutant_that_its_test_notices_is_caught_and_the_page_is_written(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(project, "sums_are_differences", "a - b", RIGHT)
    assert main([], project) == 0
    assert "1 of 1 mutants caught" in capsys.readouterr().out
    assert "sums are differences" in (project / PAGE).read_text()
    assert (project / "sums.py").read_text() == CODE


def test_a_mutant_that_one_of_its_tests_does_not_notice_survives(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(project, "sums_are_differences", "a - b", RIGHT, "test_nothing_and_nothing_are_nothing")
    assert main([], project) == 1
    assert "survived sums_are_differences" in capsys.readouterr().out
    assert not (project / PAGE).exists()


@pytest.mark.parametrize(
    ("new", "old"),
    [("a + c", "a + b"), ("a +", "a + b"), ("a - b", "a * b"), ("int", "float"), ("x", "int")],
    ids=["unknown name", "no python", "text gone", "no text either", "text there three times"],
)
def test_a_mutant_that_does_not_fit_or_cannot_run_counts_as_broken(
    project: Path, capsys: pytest.CaptureFixture[str], new: str, old: str
) -> None:
    put(project, "sums_are_broken", new, RIGHT, old=old)
    assert main([], project) == 1
    assert "broken   sums_are_broken" in capsys.readouterr().out


def test_a_test_that_fails_on_the_code_as_it_is_proves_nothing(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "sums.py").write_text(CODE.replace("a + b", "b - a"))
    put(project, "sums_are_differences", "a - b", RIGHT, old="b - a")
    assert main([], project) == 1
    assert "does not pass on the code as it is" in capsys.readouterr().out


def test_a_part_is_chosen_by_name_and_writes_no_page(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(project, "sums_are_differences", "a - b", RIGHT)
    put(project, "sums_are_products", "a * b", RIGHT)
    assert main(["*_products"], project) == 0
    assert "1 of 1 mutants caught" in capsys.readouterr().out
    assert not (project / PAGE).exists()


def test_nothing_to_choose_or_a_bad_catalogue_is_an_error(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], project) == 2
    assert "needs either a mutant or a reason" in capsys.readouterr().out
    put(project, "sums_are_differences", "a - b", RIGHT)
    assert main(["nobody"], project) == 2
    assert main(["--fast"], project) == 2
    assert main(["--list"], project) == 0
