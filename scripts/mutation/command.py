"""`scripts/mutants`: takes each rule out of a copy of the code and requires that its tests notice.

A run over all mutants in which every one is caught also writes docs/rules.md.
"""

import argparse
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from scripts.bootstrap import ROOT
from scripts.commands.listing import show_rows
from scripts.mutation.catalogue import BadCatalogue, Catalogue, Mutant, read_catalogue
from scripts.mutation.judging import Judged, faults_without_mutant, judge
from scripts.mutation.scratch import Hung, scratch_copy
from scripts.mutation.table import PAGE, page

_COLOURS = {"caught": "green", "survived": "bold red", "broken": "bold red", "hung": "bold red"}


def main(words: Sequence[str], root: Path = ROOT) -> int:
    """Return 0 when every chosen mutant was caught, 1 when one was not, 2 when there is nothing to choose."""
    parser = argparse.ArgumentParser(prog="scripts/mutants", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a mutant, or a pattern such as 'wake_*'; all if none")
    parser.add_argument("--fast", action="store_true", help="only the subset that every change is checked with")
    parser.add_argument("--list", action="store_true", help="show the mutants and their tests, run nothing")
    arguments = parser.parse_args(words)
    console = Console(highlight=False)
    try:
        catalogue = read_catalogue(root)
    except BadCatalogue as error:
        console.print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)
        return 2
    chosen = _chosen(catalogue, arguments.names, is_fast=arguments.fast)
    if not chosen:
        console.print("[bold red]error:[/] no mutant has such a name; --list shows them all")
        return 2
    if arguments.list:
        _list(chosen, console)
        return 0
    return _run(chosen, catalogue, root, console)


def _chosen(catalogue: Catalogue, patterns: Sequence[str], *, is_fast: bool) -> list[Mutant]:
    return [
        mutant
        for mutant in catalogue.mutants
        if (mutant.is_fast or not is_fast)
        and (not patterns or any(fnmatchcase(mutant.name, pattern) for pattern in patterns))
    ]


def _list(mutants: Sequence[Mutant], console: Console) -> None:
    rows = [
        (mutant.name, "fast" if mutant.is_fast else "", "\n".join(mutant.rules), "\n".join(mutant.tests))
        for mutant in mutants
    ]
    show_rows(("mutant", "fast", "rules", "tests"), rows, console)


def _run(chosen: Sequence[Mutant], catalogue: Catalogue, root: Path, console: Console) -> int:
    started = time.monotonic()
    with scratch_copy(root) as copy:
        tests = sorted({test for mutant in chosen for test in mutant.tests})
        console.print(f"{len(tests)} tests on the code as it is")
        try:
            faults = faults_without_mutant(tests, copy)
        except Hung:
            faults = ["the tests do not end on the code as it is"]
        for fault in faults:
            console.print(f"[bold red]FAILED[/] {escape(fault)}", soft_wrap=True)
        if faults:
            return 1
        judged = [_tell(judge(mutant, copy), console, is_only=len(chosen) == 1) for mutant in chosen]
    _show(judged, time.monotonic() - started, console)
    if any(one.verdict != "caught" for one in judged):
        return 1
    if len(chosen) == len(catalogue.mutants):
        (root / PAGE).write_text(page(catalogue))
    return 0


def _tell(judged: Judged, console: Console, *, is_only: bool) -> Judged:
    """Say at once what became of a mutant; how its tests noticed it only to who asked for this one."""
    colour = _COLOURS[judged.verdict]
    console.print(f"[{colour}]{judged.verdict:9}[/]{judged.mutant.name} ({judged.seconds:.1f} s)")
    if is_only:
        console.print(judged.why, markup=False, soft_wrap=True)
    return judged


def _show(judged: Sequence[Judged], seconds: float, console: Console) -> None:
    not_caught = [(one.mutant.name, one.verdict, one.why) for one in judged if one.verdict != "caught"]
    caught = len(judged) - len(not_caught)
    if not_caught:
        show_rows(("mutant", "verdict", "why"), not_caught, console)
    console.print(f"{caught} of {len(judged)} mutants caught in {seconds:.0f} s")
