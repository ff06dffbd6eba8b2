"""What no module of the project may be or hold, whatever it is for."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tests.architecture.source import Module, is_within, modules

LONGEST_MODULE_LINES = 300
MOCKS = ("unittest.mock", "mock", "pytest_mock")
REPLACEMENTS = {"monkeypatch.setattr", "monkeypatch.setitem", "monkeypatch.delattr"}
LEFT_OVERS = re.compile(r"#\s*(TODO|FIXME)\b")
SKIPS = {"skip", "skipif", "xfail", "importorskip"}


def test_every_module_stays_short() -> None:
    assert {module.name: module.length for module in modules() if module.length > LONGEST_MODULE_LINES} == {}


def test_no_module_replaces_our_own_code_by_a_mock() -> None:
    assert _found(_mocks) == {}


def test_no_module_holds_a_stub_or_a_left_over() -> None:
    assert _found(lambda module: _stubs(module.tree)) == {}
    assert _found(lambda module: LEFT_OVERS.findall(module.path.read_text())) == {}


def test_no_test_is_skipped() -> None:
    assert _found(_skips) == {}


def test_the_shapes_that_are_forbidden_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(FORBIDDEN)
    module = Module("tests.unit.test_bad", path)
    assert list(_mocks(module)) == ["imports unittest.mock.patch", "line 6: monkeypatch.setattr"]
    assert list(_skips(module)) == ["line 4: pytest.mark.skip"]
    assert list(_stubs(module.tree)) == ["line 10: empty", "line 14: refuses"]
    assert LEFT_OVERS.findall(FORBIDDEN) == ["TO" + "DO"]


FORBIDDEN = (
    """
from unittest.mock import patch

@pytest.mark.skip
def test_something(monkeypatch):
    monkeypatch.setattr("runtime.slice", "load", 1)
class Port(Protocol):
    def read(self) -> int: ...
class Thing:
    def empty(self) -> None:
        pass
    @overload
    def read(self) -> int: ...
    def refuses(self) -> None:
        raise NotImplementedError
    # TO"""
    + """DO
"""
)


def _found(look: Callable[[Module], Iterable[str]]) -> dict[str, list[str]]:
    return {module.name: found for module in modules() if (found := list(look(module)))}


def _mocks(module: Module) -> Iterator[str]:
    yield from (f"imports {name}" for name in module.imports() if any(is_within(name, mock) for mock in MOCKS))
    for node in _attributes(module):
        if ast.unparse(node) in REPLACEMENTS:
            yield f"line {node.lineno}: {ast.unparse(node)}"


def _skips(module: Module) -> Iterator[str]:
    for node in _attributes(module):
        if node.attr in SKIPS and ast.unparse(node).startswith("pytest."):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def _attributes(module: Module) -> Iterator[ast.Attribute]:
    return (node for node in ast.walk(module.tree) if isinstance(node, ast.Attribute))


def _stubs(tree: ast.AST, within_protocol: bool = False) -> Iterator[str]:
    """Functions that do nothing or only refuse. A Protocol's methods are promises; a docstring alone says why."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef) and not within_protocol and _does_nothing(node):
            yield f"line {node.lineno}: {node.name}"
        promises = isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases)
        yield from _stubs(node, within_protocol=promises)


def _does_nothing(function: ast.FunctionDef) -> bool:
    if any(ast.unparse(decorator).endswith(("overload", "abstractmethod")) for decorator in function.decorator_list):
        return False
    without_docstring = function.body[1:] if ast.get_docstring(function) else function.body
    return bool(without_docstring) and all(_is_empty(statement) for statement in without_docstring)


def _is_empty(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=raised) if raised is not None:
            return "NotImplementedError" in ast.unparse(raised)
        case _:
            return False
