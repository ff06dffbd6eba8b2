import json
import traceback
from typing import get_args

import pytest
from hypothesis import given

from runtime.errors import Misconfigured
from runtime.model.entries import (
    AssistantText,
    Body,
    Finish,
    JsonObject,
    TextItem,
    ToolCall,
    ToolResult,
    Usage,
    UserText,
)
from runtime.model.threads import Birth, Compaction, GaveUp, Inherited
from runtime.wire.rows import (
    birth_json,
    body_json,
    compaction_json,
    gave_up_json,
    object_json,
    read_birth,
    read_body,
    read_compaction,
    read_gave_up,
    read_object,
)
from tests.support.history_values import births, bodies, compactions, gave_ups, json_objects


@given(body=bodies)
def test_a_body_is_the_same_after_storing_and_loading(body: Body) -> None:
    loaded = read_body(body.kind, body_json(body).decode())
    assert loaded == body
    assert repr(loaded) == repr(body)  # keys in their order, 1 apart from 1.0 and from True


@given(value=json_objects)
def test_an_object_is_the_same_after_storing_and_loading(value: dict[str, object]) -> None:
    loaded = read_object(object_json(value).decode())
    assert repr(loaded) == repr(value)


@given(gave_up=gave_ups.filter(bool))
def test_how_a_thread_gave_up_is_the_same_after_storing_and_loading(gave_up: GaveUp) -> None:
    assert read_gave_up(gave_up_json(gave_up).decode()) == gave_up


@given(birth=births)
def test_how_a_thread_began_is_the_same_after_storing_and_loading(birth: Birth) -> None:
    assert read_birth(birth.kind, birth_json(birth).decode()) == birth


@given(compaction=compactions)
def test_a_compaction_is_the_same_after_storing_and_loading(compaction: Compaction) -> None:
    assert read_compaction(compaction_json(compaction).decode()) == compaction


def test_a_birth_does_not_repeat_its_kind() -> None:
    birth = Birth("event", (Inherited("root", 5),), "call_1", "look at it")
    assert birth_json(birth) == (b'{"lineage":[{"thread_id":"root","up_to":5}],"call_id":"call_1","task":"look at it"}')


def test_every_kind_of_body_has_a_form_of_its_own_that_does_not_repeat_the_kind() -> None:
    assert {each.__dataclass_fields__["kind"].default for each in get_args(Body)} == {
        *("user", "assistant", "reasoning", "tool_call", "tool_result", "event")
    }
    assert body_json(UserText("hello", "user:1")) == b'{"text":"hello","cause":"user:1"}'


def test_what_equals_a_default_costs_no_bytes() -> None:
    result = ToolResult("call_1", (TextItem("ok"),))
    assert body_json(result) == b'{"call_id":"call_1","items":[{"text":"ok"}]}'
    usage = Usage(10, 2)
    assert json.loads(body_json(AssistantText("", Finish("end_turn", usage)))) == {
        "text": "",
        "finish": {"stop": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 2}},
    }


def test_arguments_keep_their_order_and_their_numbers() -> None:
    arguments: JsonObject = {
        "z": 1,
        "a": 1.0,
        "m": 12345678901234567890123,
        "e": 1e-7,
        "n": None,
        "": {"y": [], "x": {}},
    }
    loaded = read_body("tool_call", body_json(ToolCall("call_1", "run", arguments)).decode())
    assert isinstance(loaded, ToolCall)
    assert repr(loaded.arguments) == repr(arguments)


def test_arguments_as_deep_as_they_are_accepted_can_be_stored() -> None:
    deep: dict[str, object] = {}
    for _ in range(100):
        deep = {"a": [deep]}
    assert read_object(object_json(deep).decode()) == deep


def test_a_field_that_only_a_newer_version_knows_is_passed_over() -> None:
    assert read_body("user", '{"text":"hello","cause":"user:1","mood":"sunny"}') == UserText("hello", "user:1")


@pytest.mark.parametrize(
    ("kind", "text", "fault"),
    [
        ("vision", '{"text":"secret"}', "kind vision: its kind is unknown"),
        ("tool_call", '{"name":"secret","arguments":{}}', "call_id is missing"),
        ("user", '{"text":["secret"],"cause":"c"}', "text is not valid"),
        ("user", "secret", "body is not valid"),
    ],
)
def test_a_row_that_cannot_be_read_is_reported_by_its_field_and_never_by_its_value(
    kind: str, text: str, fault: str
) -> None:
    with pytest.raises(Misconfigured, match=fault) as caught:
        read_body(kind, text)

    assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_objects_and_give_ups_that_cannot_be_read_are_reported_too() -> None:
    with pytest.raises(Misconfigured, match="an object"):
        read_object("[]")
    with pytest.raises(Misconfigured, match="code is missing"):
        read_gave_up('{"message_id":"m"}')
    with pytest.raises(Misconfigured, match="how a thread began"):
        read_birth("event", '{"lineage":[{}]}')
    with pytest.raises(Misconfigured, match="a compaction"):
        read_compaction("{}")
