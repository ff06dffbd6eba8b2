import json
from typing import Any

import pytest

from runtime.model.entries import ImageItem, Item, TextItem
from runtime.wire.rap import BadBody, read_callback, read_manifest


def callback(**fields: Any) -> bytes:
    return json.dumps({"type": "tool_result", "group_id": "t-1", "id": "call_1", **fields}).encode()


def test_content_that_holds_something_wins_over_text() -> None:
    read = read_callback(callback(text="short", content=[{"type": "text", "text": "long"}]))

    assert read.items == (TextItem("long"),)


@pytest.mark.parametrize("content", [[], "", None, [" "], {"type": "text", "text": ""}])
def test_text_counts_where_content_holds_nothing(content: object) -> None:
    assert read_callback(callback(text="short", content=content)).items == (TextItem("short"),)


@pytest.mark.parametrize("fields", [{}, {"text": ""}, {"text": None}, {"text": " \n"}, {"content": []}])
def test_a_result_without_anything_in_it_is_accepted(fields: dict[str, Any]) -> None:
    assert read_callback(callback(**fields)).items == ()


@pytest.mark.parametrize(
    ("content", "items"),
    [
        ("bare", (TextItem("bare"),)),
        ({"type": "text", "text": "single"}, (TextItem("single"),)),
        ([{"type": "image", "data": "aGk=", "mediaType": "image/png"}], (ImageItem("aGk=", "image/png"),)),
    ],
)
def test_content_may_be_a_bare_string_or_a_single_item(content: object, items: tuple[Item, ...]) -> None:
    assert read_callback(callback(content=content)).items == items


def test_what_else_a_result_says_is_read_and_unknown_fields_are_ignored() -> None:
    read = read_callback(callback(call_id="toolu_1", display_as="Build", subscription=True, colour="red"))

    assert (read.group_id, read.id, read.display_as, read.subscription) == ("t-1", "call_1", "Build", True)


def test_nul_in_a_result_is_replaced() -> None:
    assert read_callback(callback(text="a\x00b")).items == (TextItem("a\ufffdb"),)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "body"),
        (b"SECRET", "body"),
        (b'"SECRET"', "body"),
        (b'{"type":"tool_result","group_id":"\xff"}', "body"),
        (b"[" * 50_000, "body"),
        (b"{}", "type"),
        (callback(type="SECRET"), "type"),
        (callback(type=["tool_result"]), "type"),
        (callback(type="view_update"), "type"),
        (callback(group_id=None), "group_id"),
        (b'{"type":"tool_result","group_id":"t-1"}', "id"),
        (callback(id=7), "id"),
        (callback(text=["SECRET"]), "text"),
        (callback(content=7), "content"),
        (callback(content=[{"type": "SECRET"}]), "content"),
        (callback(display_as=7), "display_as"),
        (callback(display_as="x" * 20_000), "display_as"),
        (callback(subscription="SECRET"), "subscription"),
    ],
)
def test_a_bad_callback_is_refused_by_its_field_and_without_its_value(body: bytes, field: str) -> None:
    with pytest.raises(BadBody) as refused:
        read_callback(body)

    assert str(refused.value).startswith(field)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 129}, "name"),
        ({"endpoint": None}, "endpoint"),
        ({"tools": []}, "tools"),
        ({"tools": [{"name": "a"}]}, "tools.0.inputSchema"),
        ({"tools": [{"name": "a", "inputSchema": True}]}, "tools.0.inputSchema"),
        ({"tools": [{"name": "a", "inputSchema": {}}] * 200}, "tools"),
    ],
)
def test_a_bad_manifest_is_refused_by_its_field(fields: dict[str, Any], field: str) -> None:
    good = {"name": "n", "endpoint": "https://x.example/", "tools": [{"name": "a", "inputSchema": {}}]}
    read_manifest(json.dumps(good))

    with pytest.raises(BadBody) as refused:
        read_manifest(json.dumps({**good, **fields}))

    assert str(refused.value).startswith(field)
