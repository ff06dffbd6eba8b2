"""What scripts/enqueue puts on the input queue."""

import json

import pytest

from scripts.commands.messages import BODY_LIMIT_BYTES, MessageError, TextMessage, parse_metadata


def test_a_plain_text_needs_nothing_but_its_thread_and_its_words() -> None:
    message = TextMessage("my-conversation", "What time is it in Tokyo?")
    assert json.loads(message.body) == {
        "group_id": "my-conversation",
        "content": {"type": "text", "text": "What time is it in Tokyo?"},
    }


def test_an_own_id_and_metadata_travel_in_the_body() -> None:
    message = TextMessage("t", "yes", message_id="m1", metadata={"user_id": "ada"})
    assert json.loads(message.body)["message_id"] == "m1"
    assert json.loads(message.body)["metadata"] == {"user_id": "ada"}


def test_a_message_sent_again_under_its_own_id_has_the_same_deduplication_id() -> None:
    first, again = (TextMessage("t", "yes", message_id="m1") for _ in range(2))
    assert first.deduplication_id == again.deduplication_id
    assert len(first.deduplication_id) == 64


def test_the_same_id_in_another_thread_is_another_message() -> None:
    ids = {TextMessage(thread, "yes", message_id="m1").deduplication_id for thread in ("a", "b")}
    assert len(ids) == 2


def test_a_second_yes_without_an_id_is_a_message_of_its_own() -> None:
    assert TextMessage("t", "yes").deduplication_id != TextMessage("t", "yes").deduplication_id


@pytest.mark.parametrize("thread_id", ["a", "x" * 128, "a/b:c#d", "!~", 'back\\slash"quote'])
def test_a_thread_id_may_hold_what_a_message_group_id_may(thread_id: str) -> None:
    assert TextMessage(thread_id, "hello").thread_id == thread_id


@pytest.mark.parametrize("thread_id", ["", "x" * 129, "two words", "tab\t", "newline\n", "größe", "a\x7f"])
def test_a_thread_id_that_sqs_would_refuse_is_refused_before_it_is_sent(thread_id: str) -> None:
    with pytest.raises(MessageError, match="1 to 128 ASCII"):
        TextMessage(thread_id, "hello")


@pytest.mark.parametrize(("text", "message_id"), [("", None), (" \n", None), ("yes", "")])
def test_an_empty_text_or_id_is_refused(text: str, message_id: str | None) -> None:
    with pytest.raises(MessageError, match="empty"):
        TextMessage("t", text, message_id=message_id)


def test_the_body_is_ascii_whatever_the_user_types() -> None:
    body = TextMessage("t", "zażółć 🚀 \x00 \ud800").body
    assert body.isascii()
    assert all(character.isprintable() for character in body)


def test_a_body_that_sqs_would_refuse_for_its_size_is_refused_before_it_is_sent() -> None:
    with pytest.raises(MessageError, match="1,048,576"):
        _ = TextMessage("t", "x" * BODY_LIMIT_BYTES).body


@pytest.mark.parametrize("text", ["[1]", '"ada"', "null", "{", ""])
def test_metadata_that_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(MessageError, match="metadata"):
        parse_metadata(text)
