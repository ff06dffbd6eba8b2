"""The catalogue of mutants against the code as it is. Whether each is caught is for `scripts/mutants` to find out."""

import ast

import pytest

from scripts.bootstrap import ROOT
from scripts.mutation.catalogue import Mutant, mutated, read_catalogue
from scripts.mutation.table import PAGE, page

CATALOGUE = read_catalogue(ROOT)


@pytest.mark.parametrize("mutant", CATALOGUE.mutants, ids=lambda mutant: mutant.name)
def test_a_mutant_still_fits_the_code_and_leaves_it_python(mutant: Mutant) -> None:
    texts = {change.file: (ROOT / change.file).read_text() for change in mutant.changes}
    for change in mutant.changes:
        texts[change.file] = mutated(texts[change.file], change)
    for text in texts.values():
        ast.parse(text)


def test_every_test_that_a_mutant_names_exists() -> None:
    named = {test.partition("[")[0] for mutant in CATALOGUE.mutants for test in mutant.tests}
    files = {test.partition("::")[0] for test in named}
    trees = {file: ast.parse((ROOT / file).read_text()) for file in files}
    existing = {
        f"{file}::{node.name}"
        for file, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
    assert named - existing == set()


def test_the_page_of_rules_tells_what_the_catalogue_holds() -> None:
    assert (ROOT / PAGE).read_text() == page(CATALOGUE), "run scripts/mutants, which writes it"
