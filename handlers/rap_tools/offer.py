"""What the model is told of a tool: an entry of the manifest, made from a function."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from .calls import Json, Result

_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


class Tool(NamedTuple):
    """A function and its entry. `slow`: it may take longer than the runtime waits for an answer to its request."""

    function: Callable[..., Result]
    entry: Json
    slow: bool

    @property
    def takes_call(self) -> bool:
        return "call" in inspect.signature(self.function).parameters


def entry_of(function: Callable[..., Result], schema: Json | None, annotations: Json | None) -> Json:
    """Return the manifest's entry for a function.

    Raises:
        TypeError: it has no docstring, or no schema can be made of its annotations.
    """
    name, description = function.__name__, inspect.getdoc(function)
    if not description:
        raise TypeError(f"{name} needs a docstring: it tells the model what the tool is for")
    entry = {"name": name, "description": description, "inputSchema": schema or _schema_of(function)}
    return {**entry, "annotations": annotations} if annotations else entry


def _schema_of(function: Callable[..., Result]) -> Json:
    hints = get_type_hints(function, include_extras=True)
    parameters = [each for each in inspect.signature(function).parameters.values() if each.name != "call"]
    return {
        "type": "object",
        "properties": {each.name: _schema_of_one(hints.get(each.name)) for each in parameters},
        "required": [each.name for each in parameters if each.default is each.empty],
        "additionalProperties": False,
    }


def _schema_of_one(annotation: Any) -> Json:
    kind, arguments = get_origin(annotation), get_args(annotation)
    if kind is Annotated:
        return {**_schema_of_one(arguments[0]), "description": arguments[1]}
    if kind is list:
        return {"type": "array", "items": _schema_of_one(arguments[0])}
    if annotation in _JSON_TYPES:
        return {"type": _JSON_TYPES[annotation]}
    raise TypeError(
        f"no schema can be made of {annotation}: use str, int, float, bool, list[…] of them, or give `schema`"
    )
