import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import InvalidMessage
from runtime.mac import authentication_code
from runtime.model.entries import ImageItem, Item, Origin, TextItem
from runtime.model.messages import (
    Content,
    Message,
    MessageKey,
    PayloadRef,
    ResultContent,
    TextContent,
    UndeliveredContent,
    WakeContent,
)
from runtime.ports import Key, RawRecord
from runtime.wire.messages import (
    MAX_METADATA_BYTES,
    body_hash,
    message_body,
    message_deduplication_id,
    message_type,
    parse_message,
)
from runtime.wire.text import canonical_json

KEY = Key("k1", b"a secret of the deployment", 0)


class Keys:
    """A keyring of fixed keys."""

    def __init__(self, *keys: Key) -> None:
        self.keys = {key.key_id: key for key in keys}

    def signing(self, now_ms: int) -> Key:
        return max(self.keys.values(), key=lambda key: (key.signs_from_ms <= now_ms, key.signs_from_ms))

    def find(self, key_id: str) -> Key | None:
        return self.keys.get(key_id)


KEYS = Keys(KEY)


def record(body: str | dict[str, Any], group_id: str = "t-1") -> RawRecord:
    text = body if isinstance(body, str) else json.dumps(body)
    return RawRecord("sqs-id", "handle", group_id, text, 1, 1_700_000_000_000, 1_700_000_000_500)


def said(**fields: Any) -> dict[str, Any]:
    return {"group_id": "t-1", "content": {"type": "text", "text": "hello"}, **fields}


def ours(content: Content, message_id: str = "result:call_1", thread_id: str = "t-1") -> Message:
    return Message(thread_id, MessageKey(message_type(content), message_id), content, body_hash(content))


def refusal(body: str | dict[str, Any], group_id: str = "t-1") -> str:
    with pytest.raises(InvalidMessage) as refused:
        parse_message(record(body, group_id), KEYS)
    return refused.value.reason


def test_the_line_of_the_aws_cli_is_a_user_text_known_by_the_id_of_its_record() -> None:
    body = '{"content":{"type":"text","text":"What time is it in Tokyo?"},"group_id":"my-conversation"}'

    message = parse_message(record(body, "my-conversation"), KEYS)

    assert message.thread_id == "my-conversation"
    assert message.key == MessageKey("text", "user:sqs-id")
    assert message.content == TextContent("What time is it in Tokyo?")
    assert message.sent_ms == 1_700_000_000_000


def test_a_clients_own_id_can_not_be_that_of_a_message_of_ours() -> None:
    message = parse_message(record(said(message_id="result:call_1")), KEYS)

    assert message.key == MessageKey("text", "user:result:call_1")


def test_a_clients_long_id_is_replaced_by_its_hash() -> None:
    long = parse_message(record(said(message_id="x" * 201)), KEYS).key.message_id
    other = parse_message(record(said(message_id="x" * 202)), KEYS).key.message_id

    assert len(long) == len("user:") + 64
    assert long != other


def test_metadata_of_a_text_is_kept_and_unknown_fields_are_ignored() -> None:
    message = parse_message(record(said(metadata={"user_id": "u", "plan": [1]}, mood="good")), KEYS)

    assert message.content == TextContent("hello", {"user_id": "u", "plan": [1]})


def test_metadata_null_counts_as_none() -> None:
    assert parse_message(record(said(metadata=None)), KEYS).content == TextContent("hello")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("", "body"),
        ("nonsense SECRET", "body"),
        ("[1]", "body"),
        ('{"group_id":"t-1","content":{"type":"text","text":NaN}}', "body"),
        ('{"group_id":"t-1","content":{"type":"text","text":1e999}}', "body"),
        ('{"group_id":"t-1","metadata":' + "9" * 5_000 + "}", "body"),
        ("[" * 100_000, "body"),
        ('{"a":' * 200 + "1" + "}" * 200, "body"),
        ({"group_id": "t-1"}, "content"),
        ({"content": {"type": "text", "text": "SECRET"}}, "group_id"),
        (said(group_id=7), "group_id"),
        (said(group_id="other SECRET"), "group_id"),
        (said(content="SECRET"), "content"),
        (said(content={"text": "SECRET"}), "content.type"),
        (said(content={"type": "SECRET"}), "content.type"),
        (said(content={"type": "user_choice_answer", "id": "c", "selected": 1}), "content.type"),
        (said(content={"type": "text"}), "content.text"),
        (said(content={"type": "text", "text": None}), "content.text"),
        (said(content={"type": "text", "text": ["SECRET"]}), "content.text"),
        (said(message_id=17), "message_id"),
        (said(message_id=""), "message_id"),
        (said(metadata=["SECRET"]), "metadata"),
        (said(metadata={"user_id": 7}), "metadata.user_id"),
        (said(metadata={"note": "x" * MAX_METADATA_BYTES}), "metadata"),
        (said(auth=7), "auth"),
        (said(synthetic={"type": "undelivered", "tool_call_id": "call_1"}), "synthetic"),
        (said(synthetic={"type": "SECRET"}), "synthetic"),
        (said(origin={"toolset": "SECRET", "call_id": "c", "received_at": 1}), "origin"),
        (said(display_as="SECRET"), "display_as"),
        (said(subscription=True), "subscription"),
        (said(content={"type": "tool_result", "id": "call_1", "content": "SECRET"}), "auth"),
        (said(content={"type": "wake"}, auth="k1.SECRET"), "auth"),
    ],
)
def test_a_body_that_can_never_be_handled_is_refused_by_its_field_and_without_its_value(
    body: str | dict[str, Any], field: str
) -> None:
    reason = refusal(body)

    assert reason.startswith(field)
    assert "SECRET" not in reason


def test_a_group_id_that_is_not_the_message_group_would_break_the_groups_lock_and_is_refused() -> None:
    assert refusal(said(), group_id="t-2").startswith("group_id")


@pytest.mark.parametrize("group_id", ["", "x" * 129, "with space", "ünï", "line\n", "tab\t"])
def test_a_group_id_that_sqs_would_not_take_is_refused(group_id: str) -> None:
    assert refusal(said(group_id=group_id), group_id).startswith("group_id")


@pytest.mark.parametrize("group_id", ["a", "x" * 128, "a/b:c#d~!"])
def test_a_group_id_of_letters_digits_and_punctuation_is_accepted(group_id: str) -> None:
    assert parse_message(record(said(group_id=group_id), group_id), KEYS).thread_id == group_id


def test_nul_and_lone_surrogates_are_replaced_before_anything_sees_them() -> None:
    body = (
        '{"group_id":"t-1","message_id":"a\\u0000","content":{"type":"text","text":"x\\u0000y\\ud800z \\ud83d\\ude00"},'
        '"metadata":{"k\\uDFFF":["\\u0000"]}}'
    )

    message = parse_message(record(body), KEYS)

    assert message.key.message_id == "user:a\ufffd"
    assert message.content == TextContent("x\ufffdy\ufffdz 😀", {"k\ufffd": ["\ufffd"]})


CONTENTS: list[Content] = [
    TextContent("hi"),
    TextContent("hi \x7f\u2028 😀", {"user_id": "u", "n": 1.5}),
    ResultContent("call_1", (TextItem("done"), ImageItem("aGk=", "image/png"))),
    ResultContent("call_1", (TextItem("done"),), True, None, Origin("builds", "call_1", 5), "Build"),
    ResultContent("call_1", (), payload=PayloadRef("a/b", 300_000), origin=Origin("builds", "call_1", 5)),
    UndeliveredContent("call_1", "the server refused the call (HTTP 404)"),
    WakeContent(),
    WakeContent(3),
]


@pytest.mark.parametrize("content", CONTENTS)
def test_a_message_of_ours_is_read_as_it_was_written(content: Content) -> None:
    message = ours(content)

    body = message_body(message, KEY)
    read = parse_message(record(body), KEYS)

    assert body.isascii()
    assert (read.thread_id, read.key, read.content, read.body_hash) == (
        message.thread_id,
        message.key,
        content,
        message.body_hash,
    )


@given(st.text(), st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False) | st.text()))
def test_whatever_text_a_message_of_ours_holds_its_code_still_fits_after_the_queue(
    text: str, metadata: dict[str, Any]
) -> None:
    metadata.pop("user_id", None)
    content = TextContent(text, metadata)

    read = parse_message(record(message_body(ours(content, "greeting:1"), KEY)), KEYS)

    assert read.key.message_id == "greeting:1"


def forged(field: str, value: object) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(message_body(ours(CONTENTS[3]), KEY))
    return {**fields, field: value}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("message_id", "result:call_2"),
        ("content", {"type": "tool_result", "id": "call_1", "content": "another"}),
        ("content", {"type": "wake"}),
        ("origin", {"toolset": "bank", "call_id": "call_1", "received_at": 5}),
        ("synthetic", {"type": "undelivered", "tool_call_id": "call_1"}),
        ("auth", "k1."),
        ("auth", "k2.c29tZXRoaW5n"),
        ("auth", "é"),
        ("auth", None),
    ],
)
def test_a_message_of_ours_that_somebody_changed_is_refused(field: str, value: object) -> None:
    assert refusal(forged(field, value)).startswith("auth")


def test_a_message_of_ours_can_not_be_moved_to_another_thread() -> None:
    assert refusal(forged("group_id", "t-2"), "t-2").startswith("auth")


def test_a_message_signed_with_another_secret_under_the_same_key_id_is_refused() -> None:
    body = message_body(ours(WakeContent(), "wake:t-1:1"), Key("k1", b"another secret", 0))

    assert refusal(body).startswith("auth")


def test_an_older_key_still_verifies_after_a_newer_one_signs() -> None:
    keys = Keys(KEY, Key("k2", b"newer", 10))

    read = parse_message(record(message_body(ours(WakeContent(), "wake:t-1:1"), KEY)), keys)

    assert read.key == MessageKey("wake", "wake:t-1:1")


def signed(fields: dict[str, Any]) -> str:
    """What an older or newer release of ours would have written."""
    return json.dumps(
        {**fields, "auth": f"k1.{authentication_code(KEY.secret, 'message', canonical_json(fields).encode())}"}
    )


def result(**content: Any) -> str:
    return signed({"group_id": "t-1", "message_id": "result:call_1", "content": {"id": "call_1", **content}})


def test_the_older_name_of_a_result_is_the_same_type_so_a_repeat_is_known() -> None:
    older = parse_message(record(result(type="toolresult", content="done")), KEYS)
    newer = parse_message(record(result(type="tool_result", content="done")), KEYS)

    assert (older.key, older.body_hash) == (newer.key, newer.body_hash)


@pytest.mark.parametrize("given", ["", "   ", [], None, [None][:0], {"type": "text", "text": ""}, ["", "\n"]])
def test_an_empty_result_is_accepted_and_holds_no_blank_item(given: object) -> None:
    message = parse_message(record(result(type="tool_result", content=given)), KEYS)

    assert message.content == ResultContent("call_1", ())


def test_a_result_without_content_is_accepted() -> None:
    message = parse_message(record(result(type="tool_result")), KEYS)

    assert message.content == ResultContent("call_1", ())


@pytest.mark.parametrize(
    ("given", "items"),
    [
        ("done", (TextItem("done"),)),
        ({"type": "text", "text": "done"}, (TextItem("done"),)),
        (["one", {"type": "text", "text": " two "}], (TextItem("one"), TextItem(" two "))),
        (
            [{"type": "text", "text": " "}, {"type": "image", "data": "aGk=", "mediaType": "image/png"}],
            (ImageItem("aGk=", "image/png"),),
        ),
    ],
)
def test_a_bare_string_or_a_single_item_reads_as_a_list(given: object, items: tuple[Item, ...]) -> None:
    message = parse_message(record(result(type="tool_result", content=given)), KEYS)

    assert message.content == ResultContent("call_1", items)


@pytest.mark.parametrize("given", [7, [7], [[]], [{"type": "video"}], [{"type": "text"}]])
def test_content_that_is_no_item_is_refused_even_from_ourselves(given: object) -> None:
    assert refusal(result(type="tool_result", content=given)).startswith("content.content")


def test_a_message_of_ours_without_an_identity_is_refused() -> None:
    assert refusal(signed({"group_id": "t-1", "content": {"type": "wake"}})).startswith("message_id")


def test_a_synthetic_type_this_release_does_not_know_is_refused() -> None:
    fields = {"group_id": "t-1", "message_id": "bounce:c", "content": {"type": "tool_result", "id": "c"}}

    assert refusal(signed({**fields, "synthetic": {"type": "bounce", "tool_call_id": "c"}})).startswith("synthetic")


def test_an_undelivered_message_always_has_a_reason_to_show_to_the_model() -> None:
    fields = {"group_id": "t-1", "message_id": "undelivered:c", "content": {"type": "tool_result", "id": "c"}}

    message = parse_message(record(signed({**fields, "synthetic": {"type": "undelivered", "tool_call_id": "c"}})), KEYS)

    assert message.key == MessageKey("undelivered", "undelivered:c")
    assert isinstance(message.content, UndeliveredContent)
    assert message.content.reason.strip()


def test_the_same_result_posted_again_later_is_the_same_body_and_a_different_one_is_not() -> None:
    first, again = (
        ours(ResultContent("c", (TextItem("done"),), origin=Origin("builds", "c", at_ms))) for at_ms in (1, 3_600_000)
    )
    other = ours(ResultContent("c", (TextItem("failed"),), origin=Origin("builds", "c", 2)))

    assert message_deduplication_id(first) == message_deduplication_id(again)
    assert message_deduplication_id(first) != message_deduplication_id(other)


def test_one_message_id_in_two_threads_gives_two_deduplication_ids() -> None:
    here, there = (ours(WakeContent(), "wake:x:1", thread_id) for thread_id in ("t-1", "t-2"))

    assert message_deduplication_id(here) != message_deduplication_id(there)
    assert len(message_deduplication_id(here)) == 64
