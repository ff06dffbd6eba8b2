"""Reads the project's own source as syntax trees, so that its architecture can be asserted."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = "handlers.rap_tools"  # one flat folder that tool authors take along, so it does not know its full name
CODE = ("runtime", "handlers", "infra", "scripts", "tests")


@dataclass(frozen=True)
class Module:
    """One Python file. `name` is the dotted name under which others import it."""

    name: str
    path: Path

    def __str__(self) -> str:
        return self.name

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(), filename=str(self.path))

    @cached_property
    def length(self) -> int:
        return len(self.path.read_text().splitlines())

    def imports(self) -> Iterator[str]:
        """Dotted names of all that is imported, also inside functions and for type checking only."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from (f"{self._origin(node)}.{alias.name}" for alias in node.names)

    def _origin(self, node: ast.ImportFrom) -> str:
        """The module imported from. Imports are absolute, save where a folder is made to be copied elsewhere."""
        assert node.module is not None
        if node.level == 0:
            return node.module
        place = f"{self.path}:{node.lineno}"
        assert (node.level, is_within(self.name, COPIED)) == (1, True), f"{place}: imports are absolute"
        return f"{COPIED}.{node.module}"


def modules() -> list[Module]:
    """Every Python file of the project, generated folders left out."""
    files = [ROOT / "app.py", *(path for top in CODE for path in sorted((ROOT / top).rglob("*.py")))]
    return [Module(_name(path), path) for path in files if path.exists()]


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_within(name: str, package: str) -> bool:
    """Whether a dotted name is the package or lies in it."""
    return name == package or name.startswith(package + ".")
