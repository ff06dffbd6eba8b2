"""Stored rows: the JSON in the text columns of history, and our types.

Compact, and without what equals a default: most of what a thread costs at rest is this text. So a default of a stored
type is part of the format and must not change, and the members of a union of stored types must differ in the fields
they require. Reading what was written gives equal values, keys in their order.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from runtime.errors import Misconfigured
from runtime.model.entries import AssistantText, Body, Event, JsonObject, Reasoning, ToolCall, ToolResult, UserText
from runtime.model.threads import Birth, Compaction, GaveUp, ThreadKind
from runtime.wire.faults import field_fault

Value = TypeVar("Value")

_BODIES: Mapping[str, type[Body]] = {
    "user": UserText,
    "assistant": AssistantText,
    "reasoning": Reasoning,
    "tool_call": ToolCall,
    "tool_result": ToolResult,
    "event": Event,
}


def body_json(body: Body) -> bytes:
    """Return an entry's body as UTF-8 JSON, without its kind: that is a column of its own."""
    return _body_adapter(body.kind).dump_json(body, exclude_defaults=True)


def read_body(kind: str, text: str) -> Body:
    """Return the body that `body_json` wrote.

    Raises:
        Misconfigured: a newer version of this code wrote it, or somebody else did.
    """
    if kind not in _BODIES:
        raise Misconfigured(f"stored row cannot be read, an entry of kind {kind}: its kind is unknown")
    return _read(_body_adapter(kind), text, f"an entry of kind {kind}")


def object_json(value: JsonObject) -> bytes:
    return _object_adapter().dump_json(value)


def read_object(text: str) -> JsonObject:
    """Return the JSON object that `object_json` wrote.

    Raises:
        Misconfigured: as `read_body`.
    """
    return _read(_object_adapter(), text, "an object")


def gave_up_json(gave_up: GaveUp) -> bytes:
    return _gave_up_adapter().dump_json(gave_up)


def read_gave_up(text: str) -> GaveUp:
    """Return what `gave_up_json` wrote.

    Raises:
        Misconfigured: as `read_body`.
    """
    return _read(_gave_up_adapter(), text, "how a thread gave up")


def birth_json(birth: Birth) -> bytes:
    """Return how a thread began, without its kind: that is a column of its own."""
    return _birth_adapter().dump_json(birth, exclude={"kind"}, exclude_defaults=True)


def read_birth(kind: ThreadKind, text: str) -> Birth:
    """Return what `birth_json` wrote.

    Raises:
        Misconfigured: as `read_body`.
    """
    return replace(_read(_birth_adapter(), text, "how a thread began"), kind=kind)


def compaction_json(compaction: Compaction) -> bytes:
    return _compaction_adapter().dump_json(compaction, exclude_defaults=True)


def read_compaction(text: str) -> Compaction:
    """Return what `compaction_json` wrote.

    Raises:
        Misconfigured: as `read_body`.
    """
    return _read(_compaction_adapter(), text, "a compaction")


# Adapters are made at their first use: together they cost some 40 ms, which no cold start should pay in vain.


@cache
def _body_adapter(kind: str) -> TypeAdapter[Body]:
    return TypeAdapter(_BODIES[kind])


@cache
def _object_adapter() -> TypeAdapter[JsonObject]:
    return TypeAdapter(JsonObject)


@cache
def _gave_up_adapter() -> TypeAdapter[GaveUp]:
    return TypeAdapter(GaveUp)


@cache
def _birth_adapter() -> TypeAdapter[Birth]:
    return TypeAdapter(Birth)


@cache
def _compaction_adapter() -> TypeAdapter[Compaction]:
    return TypeAdapter(Compaction)


def _read(adapter: TypeAdapter[Value], text: str, what: str) -> Value:
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        # The field is named and never its value, which the original error would show: hence `from None`.
        raise Misconfigured(f"stored row cannot be read, {what}: {field_fault(error)}") from None
