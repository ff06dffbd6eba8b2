"""What the service's own published model says about a request: types, required members, enums, patterns, limits.

The model is botocore's copy, so the constraints are those of the installed version. botocore checks some of them in
the client; the service checks all, patterns and enums included.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

import botocore.session
from botocore.model import ListShape, MapShape, OperationModel, Shape, StructureShape

from scripts.offline_stack.model_endpoint.document import JsonObject, JsonValue, as_bytes

Constraint: TypeAlias = Literal["type", "required", "union", "enum", "pattern", "length", "range"]
Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Violation:
    """One place of a request that breaks one constraint; ``message`` is worded as the service words it."""

    constraint: Constraint
    message: str


def violations(model_id: str, body: JsonObject) -> Iterator[Violation]:
    """Yield every violation of a ConverseStream request, in the order of the service's model."""
    for name, member in _input_members().items():
        if member.serialization.get("location") == "uri":
            yield from _check(member, model_id, (name,))
        elif name in body:
            yield from _check(member, body[name], (name,))


def load() -> None:
    """Read the service's model from disk (about 0.1 s), so that no request has to wait for it."""
    _input_members()
    exception_status()


@cache
def exception_status() -> Mapping[str, int]:
    """Return the HTTP status of each exception the service may answer ConverseStream with, by name."""
    return {shape.name: shape.metadata["error"]["httpStatusCode"] for shape in _operation().error_shapes}


@cache
def _input_members() -> Mapping[str, Shape]:
    shape = _operation().input_shape
    return {} if shape is None else shape.members


@cache
def _operation() -> OperationModel:
    return botocore.session.get_session().get_service_model("bedrock-runtime").operation_model("ConverseStream")


def _check(shape: Shape, value: JsonValue, path: Path) -> Iterator[Violation]:
    if getattr(shape, "is_document_type", False):
        return
    has_type = _TYPES.get(shape.type_name)
    if has_type is not None and not has_type(value):
        yield Violation("type", f"The value at {_dotted(path)} is not of type {shape.type_name}.")
        return
    yield from _check_scalar(shape, value, path)
    match shape, value:
        case StructureShape(), dict():
            yield from _check_structure(shape, value, path)
        case ListShape(), list():
            for index, item in enumerate(value):
                yield from _check(shape.member, item, (*path, index))
        case MapShape(), dict():
            for key, item in value.items():
                yield from _check(shape.value, item, (*path, key))


def _check_structure(shape: StructureShape, value: JsonObject, path: Path) -> Iterator[Violation]:
    present = [name for name in shape.members if value.get(name) is not None]
    for name in shape.required_members:
        if name not in present:
            yield Violation("required", _detected((*path, name), "Member must not be null"))
    if shape.is_tagged_union and len(present) != 1:
        verb = "can only" if present else "must"
        keys = ", ".join(shape.members)
        yield Violation(
            "union", f"{shape.name} object at {_dotted(path)} {verb} set one of the following keys: {keys}."
        )
    for name in present:
        yield from _check(shape.members[name], value[name], (*path, name))


def _check_scalar(shape: Shape, value: JsonValue, path: Path) -> Iterator[Violation]:
    limits = shape.metadata
    enum, pattern = limits.get("enum"), limits.get("pattern")
    if enum and value not in enum:
        yield Violation("enum", _detected(path, f"Member must satisfy enum value set: [{', '.join(enum)}]"))
    if pattern and isinstance(value, str) and not re.fullmatch(pattern, value):
        yield Violation("pattern", _detected(path, f"Member must satisfy regular expression pattern: {pattern}"))
    yield from _check_limits(limits, value, path)


def _check_limits(limits: Mapping[str, int], value: JsonValue, path: Path) -> Iterator[Violation]:
    match value:
        case bool() | None:
            return
        case str() | list() | dict():
            measured: float = len(value)
            kind: Constraint = "length"
            name = "length "
        case int() | float():
            measured, kind, name = value, "range", "value "
    if measured < limits.get("min", measured):
        yield Violation(kind, _detected(path, f"Member must have {name}greater than or equal to {limits['min']}"))
    if measured > limits.get("max", measured):
        yield Violation(kind, _detected(path, f"Member must have {name}less than or equal to {limits['max']}"))


def _detected(path: Path, complaint: str) -> str:
    # The service counts from one and writes .member behind every list here, unlike in its other messages.
    place = ".".join(f"{part + 1}.member" if isinstance(part, int) else part for part in path)
    return f"1 validation error detected: Value at '{place}' failed to satisfy constraint: {complaint}"


def _dotted(path: Path) -> str:
    return ".".join(str(part) for part in path)


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_TYPES: Mapping[str, Callable[[JsonValue], bool]] = {
    "structure": lambda value: isinstance(value, dict),
    "map": lambda value: isinstance(value, dict),
    "list": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "long": _is_integer,
    "float": _is_number,
    "double": _is_number,
    "blob": lambda value: as_bytes(value) is not None,
}
