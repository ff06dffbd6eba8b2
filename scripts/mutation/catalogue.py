"""The rules that must hold and the mutants that break them, as the files of `tests/mutants` describe them.

`rules.toml` lists the rules. Every other file there is one mutant: which rules it takes out, which tests must fail
then, and what it changes, by the exact text. A text that is no longer there exactly once is an error and no change.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path("tests/mutants")
_RULES = "rules.toml"


class BadCatalogue(Exception):
    """A file of the catalogue is not as it should be. The message names it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`is_interleaving`: it closes an order of events, which looks like a detail until that order happens.

    `beyond` says why no change of the code can take the rule out; then there is no mutant.
    """

    name: str
    says: str
    is_interleaving: bool
    beyond: str | None


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """In this file, whose path starts at the project's folder, `old` becomes `new`."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """`tests` are node ids of pytest, each of which must fail. `is_fast`: it belongs to the subset of the gate."""

    name: str
    rules: tuple[str, ...]
    tests: tuple[str, ...]
    changes: tuple[Change, ...]
    is_fast: bool

    def of(self, rule: Rule) -> bool:
        return rule.name in self.rules


@dataclass(frozen=True, slots=True)
class Catalogue:
    sections: tuple[Section, ...]
    mutants: tuple[Mutant, ...]

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(rule for section in self.sections for rule in section.rules)


def read_catalogue(root: Path) -> Catalogue:
    """Return the catalogue of the project in this folder; mutants by name.

    Raises:
        BadCatalogue: a file cannot be read, a mutant stands for no rule, or a rule has neither mutant nor reason.
    """
    folder = root / FOLDER
    rules = _read(folder / _RULES)
    sections = tuple(
        Section(section["title"], tuple(_rule(rule) for rule in section["rule"])) for section in rules["section"]
    )
    mutants = tuple(_mutant(path) for path in sorted(folder.glob("*.toml")) if path.name != _RULES)
    catalogue = Catalogue(sections, mutants)
    _require_complete(catalogue)
    return catalogue


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BadCatalogue(f"{path.name}: {error}") from error


def _rule(fields: dict[str, Any]) -> Rule:
    return Rule(fields["name"], fields["says"], fields.get("interleaving", False), fields.get("beyond"))


def _mutant(path: Path) -> Mutant:
    fields = _read(path)
    try:
        return Mutant(
            name=path.stem,
            rules=tuple(fields["rules"]),
            tests=tuple(fields["tests"]),
            changes=tuple(Change(change["file"], change["old"], change["new"]) for change in fields["change"]),
            is_fast=fields.get("fast", False),
        )
    except KeyError as missing:
        raise BadCatalogue(f"{path.name}: {missing} is missing") from missing


def _require_complete(catalogue: Catalogue) -> None:
    names = [rule.name for rule in catalogue.rules]
    doubles = sorted({name for name in names if names.count(name) > 1})
    if doubles:
        raise BadCatalogue(f"{_RULES}: more than once: {', '.join(doubles)}")
    for mutant in catalogue.mutants:
        strangers = [rule for rule in mutant.rules if rule not in names]
        if strangers or not mutant.rules or not mutant.tests or not mutant.changes:
            raise BadCatalogue(f"{mutant.name}: no rule, test or change, or unknown rules: {', '.join(strangers)}")
    for rule in catalogue.rules:
        if (rule.beyond is None) != any(mutant.of(rule) for mutant in catalogue.mutants):
            raise BadCatalogue(f"{_RULES}: {rule.name} needs either a mutant or a reason why there is none")


def mutated(text: str, change: Change) -> str:
    """Return the text with the change made.

    Raises:
        BadCatalogue: the old text is not in it exactly once, or the new one is the same.
    """
    found = text.count(change.old)
    if found != 1 or change.old == change.new:
        raise BadCatalogue(f"{change.file}: the text to change is there {found} times")
    return text.replace(change.old, change.new)
