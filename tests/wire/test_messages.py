from typing import Any

import pytest

from runtime.model.messages import ChoiceAnswerContent, MessageKey, TextContent
from runtime.wire.contents import MAX_METADATA_BYTES
from runtime.wire.messages import parse_message
from tests.support.wire_messages import KEYS, record, refusal, said


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


@pytest.mark.parametrize("fields", [{}, {"message_id": "one"}, {"message_id": "another", "metadata": {"n": 1}}])
def test_whoever_answers_a_choice_the_answer_is_named_after_it_so_that_a_second_one_is_a_repeat(
    fields: dict[str, Any],
) -> None:
    answer = {"type": "user_choice_answer", "id": "choice:call_1:k", "selected": 2}

    message = parse_message(record(said(content=answer, **fields)), KEYS)

    assert message.key == MessageKey("user_choice_answer", "answer:choice:call_1:k")
    assert message.content == ChoiceAnswerContent("choice:call_1:k", 2)


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
        (said(content={"type": "user_choice_answer", "selected": 1}), "content.id"),
        (said(content={"type": "user_choice_answer", "id": "", "selected": 1}), "content.id"),
        (said(content={"type": "user_choice_answer", "id": "SECRET" * 51, "selected": 1}), "content.id"),
        (said(content={"type": "user_choice_answer", "id": "c"}), "content.selected"),
        (said(content={"type": "user_choice_answer", "id": "c", "selected": "SECRET"}), "content.selected"),
        (said(content={"type": "user_choice_answer", "id": "c", "selected": True}), "content.selected"),
        (said(content={"type": "user_choice_answer", "id": "c", "selected": 1}, display_as="SECRET"), "display_as"),
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
        (said(content={"type": "oauth_required", "id": "c", "auth_url": "https://SECRET"}), "auth"),
        (said(content={"type": "user_choice_required", "id": "c", "prompt": "SECRET"}), "auth"),
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
