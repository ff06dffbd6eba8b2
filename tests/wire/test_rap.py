import json
from typing import Any

import pytest

from runtime.model.entries import ImageItem, Item, TextItem
from runtime.wire.rap import (
    BadBody,
    ChoiceCallback,
    EventCallback,
    OauthCallback,
    ResultCallback,
    ViewCallback,
    read_callback,
    read_manifest,
)


def callback(**fields: Any) -> bytes:
    return json.dumps({"type": "tool_result", "group_id": "t-1", "id": "call_1", **fields}).encode()


def result(**fields: Any) -> ResultCallback:
    read = read_callback(callback(**fields))
    assert isinstance(read, ResultCallback)
    return read


def posted(kind: str, **fields: Any) -> bytes:
    return json.dumps({"type": kind, "group_id": "t-1", **fields}).encode()


def test_content_that_holds_something_wins_over_text() -> None:
    read = result(text="short", content=[{"type": "text", "text": "long"}])

    assert read.items == (TextItem("long"),)


@pytest.mark.parametrize("content", [[], "", None, [" "], {"type": "text", "text": ""}])
def test_text_counts_where_content_holds_nothing(content: object) -> None:
    assert result(text="short", content=content).items == (TextItem("short"),)


@pytest.mark.parametrize("fields", [{}, {"text": ""}, {"text": None}, {"text": " \n"}, {"content": []}])
def test_a_result_without_anything_in_it_is_accepted(fields: dict[str, Any]) -> None:
    assert result(**fields).items == ()


@pytest.mark.parametrize(
    ("content", "items"),
    [
        ("bare", (TextItem("bare"),)),
        ({"type": "text", "text": "single"}, (TextItem("single"),)),
        ([{"type": "image", "data": "aGk=", "mediaType": "image/png"}], (ImageItem("aGk=", "image/png"),)),
    ],
)
def test_content_may_be_a_bare_string_or_a_single_item(content: object, items: tuple[Item, ...]) -> None:
    assert result(content=content).items == items


def test_what_else_a_result_says_is_read_and_unknown_fields_are_ignored() -> None:
    read = result(call_id="toolu_1", display_as="Build", subscription=True, colour="red")

    assert (read.group_id, read.id, read.display_as, read.subscription) == ("t-1", "call_1", "Build", True)


def test_nul_in_a_result_is_replaced() -> None:
    assert result(text="a\x00b").items == (TextItem("a\ufffdb"),)


def test_an_event_says_whom_it_is_for_and_whether_it_is_the_last() -> None:
    silent = read_callback(posted("subscription_event", tool_call_id="call_1", text=" ", associative=None))
    last = read_callback(posted("subscription_event", tool_call_id="c", text="up", associative=True, final=True))

    assert isinstance(silent, EventCallback)
    assert isinstance(last, EventCallback)
    assert (silent.id, silent.items, silent.associative, silent.final) == ("call_1", (), False, False)
    assert (last.id, last.items, last.associative, last.final) == ("c", (TextItem("up"),), True, True)


@pytest.mark.parametrize(("given", "default"), [({}, 0), ({"default": None}, 0), ({"default": 1}, 1)])
def test_the_first_of_the_choices_is_the_default_where_none_is_named(given: dict[str, Any], default: int) -> None:
    read = read_callback(posted("user_choice", **{**CHOICE, **given}))

    assert isinstance(read, ChoiceCallback)
    assert (read.id, read.prompt, read.choices, read.default) == ("call_1", "Which?", ["this", "that"], default)
    assert read.response_url == "https://tools.example/chosen"


def test_a_login_names_the_call_that_waits_for_it() -> None:
    read = read_callback(posted("oauth", id="call_1", call_id="toolu_1", auth_url="https://login.example/"))

    assert isinstance(read, OauthCallback)
    assert (read.id, read.auth_url) == ("call_1", "https://login.example/")


@pytest.mark.parametrize("content", [None, False, 1.5, "a line", ["a", {"b": []}], {"rows": [1, 2]}])
def test_a_view_may_hold_whatever_json_can_say(content: object) -> None:
    read = read_callback(posted("view_update", view_type="board", content=content))

    assert isinstance(read, ViewCallback)
    assert (read.group_id, read.view_type, read.content) == ("t-1", "board", content)


CHOICE: dict[str, Any] = {
    "id": "call_1",
    "prompt": "Which?",
    "choices": ["this", "that"],
    "response_url": "https://tools.example/chosen",
}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (posted("subscription_event", id="call_1", text="SECRET"), "tool_call_id"),
        (posted("subscription_event", tool_call_id="call_1"), "text"),
        (posted("subscription_event", tool_call_id="call_1", text="x", final="SECRET"), "final"),
        (posted("subscription_event", tool_call_id="call_1", text="x", event_id=7), "event_id"),
        (posted("oauth", id="call_1"), "auth_url"),
        (posted("oauth", id="call_1", auth_url="javascript:SECRET"), "auth_url"),
        (posted("oauth", id="call_1", auth_url="https://" + "x" * 2_048), "auth_url"),
        (posted("user_choice", **{**CHOICE, "choices": []}), "choices"),
        (posted("user_choice", **{**CHOICE, "choices": ["SECRET"] * 101}), "choices"),
        (posted("user_choice", **{**CHOICE, "choices": ["x" * 501]}), "choices.0"),
        (posted("user_choice", **{**CHOICE, "choices": [""]}), "choices.0"),
        (posted("user_choice", **{**CHOICE, "prompt": "x" * 10_001}), "prompt"),
        (posted("user_choice", **{**CHOICE, "default": 2}), "default"),
        (posted("user_choice", **{**CHOICE, "default": -1}), "default"),
        (posted("user_choice", **{**CHOICE, "default": True}), "default"),
        (posted("user_choice", **{**CHOICE, "response_url": "ftp://SECRET"}), "response_url"),
        (posted("view_update", content="SECRET"), "view_type"),
        (posted("view_update", view_type="", content="SECRET"), "view_type"),
        (posted("view_update", view_type="x" * 129, content="SECRET"), "view_type"),
        (posted("view_update", view_type="board"), "content"),
    ],
)
def test_a_field_that_could_not_be_passed_on_is_refused_by_its_name(body: bytes, field: str) -> None:
    with pytest.raises(BadBody) as refused:
        read_callback(body)

    assert str(refused.value).startswith(field)
    assert "SECRET" not in str(refused.value)


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
