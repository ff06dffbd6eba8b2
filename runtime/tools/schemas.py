"""Input schemas of tools, which strangers write: whether one can be worked with, and whether arguments fit it.

A schema is a program. References can double the work with every level, a pattern can take Python's matcher for ever,
and the library raises whatever its reading runs into. So the work is counted, patterns are left to the tool server,
and whatever is raised is the schema's fault.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, best_match
from jsonschema.validators import extend
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from runtime.model.entries import JsonObject
from runtime.wire.text import canonical_json

MAX_SCHEMA_BYTES = 64 * 1024  # it goes to the model with every request
# Keywords applied in one check, and within each other. Hundreds are much; and what runs into Python's own limit of
# depth inside the library's native parts ends the process instead of the check.
_MAX_STEPS = 20_000
_MAX_DEPTH = 80
_SHOWN_CHARS = 500

Keyword = Callable[..., Iterator[Any] | None]


class TooMuchWork(Exception):
    """Checking a value took more steps, or went deeper, than any honest schema needs."""


@dataclass(slots=True)
class _Work:
    steps: int = 0
    depth: int = 0


_work: ContextVar[_Work] = ContextVar("work")


class ArgumentChecker:
    """Checks arguments against one schema. Safe to share between threads."""

    def __init__(self, schema: JsonObject) -> None:
        self._validator = _Checker(schema)

    def complaint(self, arguments: JsonObject) -> str | None:
        """Return what is wrong with these arguments, or None. Bounded in time, and never raises."""
        _work.set(_Work())
        try:
            error = best_match(self._validator.iter_errors(dict(arguments)))
            return None if error is None else f"{error.json_path}: {error.message}"[:_SHOWN_CHARS]
        except Exception:  # noqa: BLE001 - see above: there is no list of what a stranger's schema raises
            return "they cannot be checked against the tool's schema; make them simpler"


def schema_fault(schema: JsonObject) -> str | None:
    """Return why no call can be checked against this schema, or None.

    References must point into the schema itself: following others would make requests to wherever a tool server says.
    """
    if len(canonical_json(schema)) > MAX_SCHEMA_BYTES:
        return f"is larger than {MAX_SCHEMA_BYTES} bytes"
    if schema.get("type", "object") != "object":
        return "does not describe an object"
    try:
        return _reference_fault(schema) or _trial_fault(schema)
    except SchemaError:
        return "is not a JSON Schema"
    except Exception:  # noqa: BLE001 - see above
        return "can not be applied"


def _reference_fault(schema: JsonObject) -> str | None:
    resource: Resource[Any] = Resource.from_contents(schema, default_specification=DRAFT202012)
    resolver = Registry().with_resource("", resource).resolver()
    for reference in _texts_of(schema, ("$ref", "$dynamicRef")):
        if not reference.startswith("#"):
            return "refers to another document"
        try:
            resolver.lookup(reference)
        except Unresolvable:
            return "refers to a part it does not have"
    return None


def _texts_of(value: object, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the texts that stand under these names, however deep."""
    if isinstance(value, list):
        for item in value:
            yield from _texts_of(item, names)
    if isinstance(value, dict):
        for name, part in value.items():
            if name in names and isinstance(part, str):
                yield part
            else:
                yield from _texts_of(part, names)


def _trial_fault(schema: JsonObject) -> str | None:
    """Return why the schema fails where it is read in full, or None. Raises whatever the library raises.

    One that refers to itself without an end, or multiplies without one, shows with the first value.
    """
    Draft202012Validator.check_schema(schema)
    for pattern in _texts_of(schema, ("pattern",)):
        re.compile(pattern)  # the model's provider refuses what is no pattern, and with it the whole request
    _work.set(_Work())
    for _ in _Checker(schema).iter_errors({}):
        pass
    return None


def _counted(keyword: Keyword) -> Keyword:
    def apply(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        work = _work.get()
        work.steps += 1
        if work.steps > _MAX_STEPS or work.depth == _MAX_DEPTH:
            raise TooMuchWork
        work.depth += 1
        try:
            yield from keyword(validator, value, instance, schema) or ()
        finally:
            work.depth -= 1

    return apply


def _passed_over(_validator: Any, _value: Any, _instance: Any, _schema: Any) -> Iterator[Any]:
    return iter(())


def _additional_properties(validator: Any, value: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    """Which properties are additional depends on the patterns, where there are some."""
    if "patternProperties" not in schema:
        yield from _KEYWORDS["additionalProperties"](validator, value, instance, schema) or ()


_KEYWORDS: Mapping[str, Keyword] = Draft202012Validator.VALIDATORS
# Patterns may never end, and so may what depends on them; to compare all items of a list takes the square of its time.
_PASSED_OVER = ("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems", "uniqueItems")
_Checker: Any = extend(  # type: ignore[no-untyped-call]  # the library gives it no types
    Draft202012Validator,
    {
        **{name: _counted(keyword) for name, keyword in _KEYWORDS.items()},
        **dict.fromkeys(_PASSED_OVER, _passed_over),
        "additionalProperties": _counted(_additional_properties),
    },
)
