"""Input schemas that strangers write, some of them with an intent."""

from typing import Any

import pytest

from runtime.tools.schemas import ArgumentChecker, schema_fault

LAUGHS: dict[str, Any] = {
    "$defs": {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)} | {"a40": {}},
    "$ref": "#/$defs/a0",
}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"pattern": "a{99999999999}"}}},
        {"properties": {"a": {"pattern": "(" * 3_000 + ")" * 3_000}}},
        {"properties": {"a": {"pattern": "("}}},
        {"type": "object", "allOf": [{}], "$ref": "#/allOf/notint"},
        {"type": "object", "title": "abc", "$ref": "#/title/0"},
        {"type": "object", "title": "abc", "$ref": "#/title"},
        {"type": "object", "x": {"type": "nosuch"}, "$ref": "#/x"},
        {"type": "object", "x": {"minProperties": "5"}, "$ref": "#/x"},
        {"$ref": "#"},
        {"$ref": "https://tools.example/schema.json"},
        LAUGHS,
    ],
)
def test_a_schema_no_call_can_be_checked_against_is_refused_and_nothing_else_happens(schema: dict[str, Any]) -> None:
    assert schema_fault(schema) is not None


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"pattern": {"type": "string", "pattern": "^[a-z]+$"}}},
        {"$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}}, "$ref": "#/$defs/node"},
        {"properties": {"unit": {"enum": ["C", "F"]}}, "required": ["unit"], "additionalProperties": False},
    ],
)
def test_an_honest_schema_is_taken(schema: dict[str, Any]) -> None:
    assert schema_fault(schema) is None


def complaint(schema: dict[str, Any], arguments: dict[str, Any]) -> str | None:
    return ArgumentChecker(schema).complaint(arguments)


def test_arguments_are_checked_by_everything_that_ends() -> None:
    schema = {"properties": {"unit": {"enum": ["C", "F"]}}, "required": ["unit"], "additionalProperties": False}
    assert complaint(schema, {"unit": "C"}) is None
    assert complaint(schema, {}) == "$: 'unit' is a required property"
    assert "'K' is not one of" in str(complaint(schema, {"unit": "K"}))
    assert "Additional properties" in str(complaint(schema, {"unit": "C", "x": 1}))


def test_a_value_nested_as_deep_as_its_schema_allows_is_checked() -> None:
    schema = {"$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}, "type": "object"}}}
    nested: dict[str, Any] = {}
    for _ in range(15):
        nested = {"next": nested}
    assert complaint({**schema, "$ref": "#/$defs/node"}, nested) is None
    assert "not of type" in str(complaint({**schema, "$ref": "#/$defs/node"}, {"next": {"next": 5}}))


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"properties": {"a": {"multipleOf": 0.01}}}, {"a": 10**400}),
        ({"x": {"type": "nosuch"}, "properties": {"a": {"$ref": "#/x"}}}, {"a": 1}),
        ({"properties": {"a": LAUGHS}, **LAUGHS}, {"a": {}}),
        ({"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}, {"a": {"a": {"a": {"a": {"a": 1}}}}}),
    ],
)
def test_a_check_that_fails_or_never_ends_is_a_complaint_or_nothing(
    schema: dict[str, Any], arguments: dict[str, Any]
) -> None:
    assert complaint(schema, arguments) in (None, "they cannot be checked against the tool's schema; make them simpler")


def test_patterns_are_left_to_the_tool_server() -> None:
    schema = {
        "properties": {"a": {"pattern": "^(a+)+$"}},
        "patternProperties": {"^b": {}},
        "additionalProperties": False,
    }
    assert complaint(schema, {"a": "a" * 60 + "!", "b": 1, "c": 2}) is None
