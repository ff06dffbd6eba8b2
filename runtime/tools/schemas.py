"""Whether a tool's input schema can be worked with: by the model's provider, and by us on every call."""

import re
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from runtime.model.entries import JsonObject
from runtime.wire.text import canonical_json

MAX_SCHEMA_BYTES = 64 * 1024  # it goes to the model with every request


def schema_fault(schema: JsonObject) -> str | None:
    """Return why no call can be checked against this schema, or None.

    References must point into the schema itself: following others would make requests to wherever a tool server says.
    """
    if len(canonical_json(schema)) > MAX_SCHEMA_BYTES:
        return f"is larger than {MAX_SCHEMA_BYTES} bytes"
    if schema.get("type", "object") != "object":
        return "does not describe an object"
    try:
        Draft202012Validator.check_schema(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    except SchemaError:
        return "is not a JSON Schema"
    return _reference_fault(schema) or _trial_fault(schema)


def _reference_fault(schema: JsonObject) -> str | None:
    resource: Resource[Any] = Resource.from_contents(schema, default_specification=DRAFT202012)
    resolver = Registry().with_resource("", resource).resolver()
    for reference in _references(schema):
        if not reference.startswith("#"):
            return "refers to another document"
        try:
            resolver.lookup(reference)
        except Unresolvable:
            return "refers to a part it does not have"
    return None


def _references(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _references(item)
    if isinstance(value, dict):
        for name, part in value.items():
            if name in ("$ref", "$dynamicRef") and isinstance(part, str):
                yield part
            else:
                yield from _references(part)


def _trial_fault(schema: JsonObject) -> str | None:
    """A schema that refers to itself without an end shows with the first value that is checked against it."""
    try:
        Draft202012Validator(schema).is_valid({})
    except (RecursionError, Unresolvable, re.error):
        return "can not be applied"
    return None
