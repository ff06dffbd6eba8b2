"""`docs/rules.md`: each rule, the mutants that take it out, the tests that notice. Pure."""

from collections.abc import Iterator
from pathlib import Path

from scripts.mutation.catalogue import FOLDER, Catalogue, Mutant, Rule

PAGE = Path("docs/rules.md")
_HEAD = """\
# Rules that look like details

Each of these rules closes a way to lose, double or hang something, those marked ⚠ by an order of events that is easily
overlooked. None may go unnoticed: for each there is a *mutant*, a small change that takes the rule out of the code, and
tests that fail on it. `scripts/mutants` applies every mutant to a copy of the project and runs its tests there, which
must fail, and must pass on the code as it is. A run over all of them in which every mutant was caught writes this page;
nobody else does. Rules of what is not built yet are added with it.

To add a rule, add it to [`rules.toml`](../tests/mutants/rules.toml) and put a mutant beside it.
"""


def page(catalogue: Catalogue) -> str:
    """Return the page as it reads when every mutant was caught."""
    counts = f"{len(catalogue.rules)} rules, {len(catalogue.mutants)} mutants."
    parts = [_HEAD, f"{counts}\n"]
    for section in catalogue.sections:
        rows = "\n".join(row for rule in section.rules for row in _rows(rule, catalogue))
        parts.append(f"## {section.title}\n\n| rule | mutant | tests that fail | caught |\n|---|---|---|---|\n{rows}\n")
    return "\n".join(parts)


def _rows(rule: Rule, catalogue: Catalogue) -> Iterator[str]:
    says = ("⚠ " if rule.is_interleaving else "") + _cell(rule.says)
    if rule.beyond is not None:
        yield f"| {says} | none: {_cell(rule.beyond)} | | — |"
    for mutant in catalogue.mutants:
        if mutant.of(rule):
            yield f"| {says} | {_mutant(mutant)} | {'<br>'.join(map(_test, mutant.tests))} | yes |"
            says = ""


def _mutant(mutant: Mutant) -> str:
    return f"[{_words(mutant.name)}](../{FOLDER}/{mutant.name}.toml)"


def _test(node_id: str) -> str:
    file, _, name = node_id.partition("::")
    return f"[{_words(name.removeprefix('test_'))}](../{file})"


def _words(name: str) -> str:
    return _cell(name.replace("_", " "))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("[", "(").replace("]", ")")
