"""Reading JSON that may be anything.

A request is judged after it was read, so reading never fails: what has the wrong type reads as empty, and the rules
of ``rules.structure`` are what refuses it.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]


def as_object(value: JsonValue) -> JsonObject:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_array(value: JsonValue) -> list[JsonValue]:
    """Return the value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: JsonValue) -> str:
    """Return the value if it is a string, else the empty one."""
    return value if isinstance(value, str) else ""


def as_number(value: JsonValue) -> float | None:
    """Return the value if it is a number, else nothing; true and false are no numbers."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def as_bytes(value: JsonValue) -> bytes | None:
    """Return what a base64 string stands for (how blobs travel in JSON), nothing if it is no such string."""
    try:
        return b64decode(as_text(value), validate=True)
    except Base64Error:
        return None
