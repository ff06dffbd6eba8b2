"""Whether the tests of a mutant notice it."""

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scripts.mutation.catalogue import BadCatalogue, Mutant
from scripts.mutation.scratch import Hung, TestRun, applied, run_tests

Verdict = Literal["caught", "survived", "broken", "hung"]

# A test that fails like this shows that the changed code cannot run, not that somebody watches the rule.
_CANNOT_RUN = re.compile(
    r"(NameError|UnboundLocalError|ImportError|ModuleNotFoundError|SyntaxError|IndentationError)\b"
)
_ALL_PASSED, _SOME_FAILED = 0, 1


@dataclass(frozen=True, slots=True)
class Judged:
    """`why` is one line: how the tests failed, or what is wrong with the mutant."""

    mutant: Mutant
    verdict: Verdict
    why: str
    seconds: float


def judge(mutant: Mutant, copy: Path) -> Judged:
    """Break the rule in the copy, run the mutant's tests, and mend it again.

    caught: every one of its tests failed, by itself. survived: one did not. broken: the changed code cannot even run,
    or the change does not fit the code any more. hung: the tests did not end.
    """
    started = time.monotonic()
    try:
        with applied(mutant, copy):
            run = run_tests(copy, mutant.tests, keep_compiled=False)
    except BadCatalogue as error:
        verdict, why = _broken(str(error))
    except Hung:
        verdict, why = "hung", "the tests did not end"
    else:
        verdict, why = _read(run, mutant)
    return Judged(mutant, verdict, why, time.monotonic() - started)


def _broken(why: str) -> tuple[Verdict, str]:
    return "broken", why


def _read(run: TestRun, mutant: Mutant) -> tuple[Verdict, str]:
    problems = [*run.errors.values(), *(how for how in run.failures.values() if _CANNOT_RUN.match(how))]
    if problems or run.status not in (_ALL_PASSED, _SOME_FAILED):
        return _broken(problems[0] if problems else _last_line(run.printed))
    survived = [test for test in mutant.tests if run.failure_of(test) is None]
    if survived:
        return "survived", f"passes all the same: {', '.join(survived)}"
    return "caught", next(iter(run.failures.values()))


def faults_without_mutant(tests: list[str], copy: Path) -> list[str]:
    """Run the tests on code that is as it should be; return those that do not pass, which then prove nothing.

    Raises:
        Hung: they did not end.
    """
    run = run_tests(copy, tests, keep_compiled=True)
    faults = [f"{test} does not pass on the code as it is" for test in tests if not run.is_passed(test)]
    return faults or ([_last_line(run.printed)] if run.status != _ALL_PASSED else [])


def _last_line(printed: str) -> str:
    return next((line.strip() for line in reversed(printed.splitlines()) if line.strip()), "pytest said nothing")
