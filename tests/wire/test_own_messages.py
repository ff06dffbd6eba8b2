import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.model.entries import ImageItem, Item, Origin, PayloadRef, TextItem
from runtime.model.messages import (
    BounceContent,
    ChoiceAnswerContent,
    ChoiceContent,
    CompactionContent,
    Content,
    EventContent,
    MessageKey,
    OauthContent,
    ParentContent,
    ReportContent,
    ResultContent,
    TextContent,
    TimerContent,
    UndeliveredContent,
    WakeContent,
)
from runtime.ports import Key
from runtime.wire.contents import message_type
from runtime.wire.messages import message_body, message_deduplication_id, parse_message
from tests.support.wire_messages import KEY, KEYS, Keys, ours, record, refusal, signed

CONTENTS: list[Content] = [
    TextContent("hi"),
    TextContent("hi \x7f\u2028 😀", {"user_id": "u", "n": 1.5}),
    ResultContent("call_1", (TextItem("done"), ImageItem("aGk=", "image/png"))),
    ResultContent("call_1", (TextItem("done"),), True, None, Origin("builds", "call_1", 5), "Build"),
    ResultContent("call_1", (), payload=PayloadRef("a/b", 300_000), origin=Origin("builds", "call_1", 5)),
    UndeliveredContent("call_1", "the server refused the call (HTTP 404)"),
    WakeContent(),
    WakeContent(3),
    EventContent("call_1", (TextItem("two cents"),)),
    EventContent("call_1", (TextItem("over"),), True, True, None, Origin("prices", "call_1", 5)),
    EventContent("call_1", (), final=True, payload=PayloadRef("a/b", 300_000), origin=Origin("prices", "call_1", 5)),
    ReportContent("call_1", "child", "half of it is done"),
    ReportContent("call_1", "child", "", closed=True),
    ParentContent("call_1", "hurry\nup"),
    BounceContent("call_1"),
    TimerContent("call_1", 1_700_000_000_000),
    CompactionContent("compaction-1", 12),
    OauthContent("call_1", "https://login.example/?for=you"),
    ChoiceContent("call_1", "Which?", ("this", "that"), 1, "https://tools.example/chosen"),
    ChoiceContent("call_1", "", ("this",), 0, "http://tools.example/", Origin("tickets", "call_1", 5)),
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


def test_every_kind_of_content_is_tried_here_and_has_a_type_of_its_own() -> None:
    kinds = {type(content) for content in [*CONTENTS, ChoiceAnswerContent("choice", 1)]}

    assert kinds == set(get_args(Content))
    assert len({message_type(content) for content in [*CONTENTS, ChoiceAnswerContent("choice", 1)]}) == len(kinds)


def test_an_answer_to_a_choice_is_read_as_it_was_written_and_named_after_the_choice() -> None:
    body = message_body(ours(ChoiceAnswerContent("choice:call_1:k", 1), "whatever"), KEY)

    message = parse_message(record(body), KEYS)

    assert message.key == MessageKey("user_choice_answer", "answer:choice:call_1:k")
    assert message.content == ChoiceAnswerContent("choice:call_1:k", 1)


@given(st.text(), st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False) | st.text()))
def test_whatever_text_a_message_of_ours_holds_its_code_still_fits_after_the_queue(
    text: str, metadata: dict[str, Any]
) -> None:
    metadata.pop("user_id", None)
    content = TextContent(text, metadata)

    read = parse_message(record(message_body(ours(content, "greeting:1"), KEY)), KEYS)

    assert read.key.message_id == "greeting:1"


def test_the_largest_choice_that_is_accepted_fits_a_message_of_sqs() -> None:
    url = "https://tools.example/".ljust(2_048, "x")
    content = ChoiceContent("call_1", "😀" * 10_000, ("😀" * 500,) * 100, 99, url, Origin("x" * 128, "call_1", 5))

    body = message_body(ours(content, "choice:call_1:" + "k" * 200), KEY)

    assert parse_message(record(body), KEYS).content == content
    assert len(body) < 1_048_576


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


CALL = {"type": "tool_result", "id": "c"}
CHOICE = {"type": "user_choice_required", "id": "c", "prompt": "?", "choices": ["a", "b"], "response_url": "http://x/"}
LONG = "SECRET" * 2_000


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"content": CALL, "synthetic": {"type": "SECRET", "tool_call_id": "c"}}, "synthetic"),
        ({"content": CALL, "synthetic": {"type": "bounce"}}, "synthetic.bounce.tool_call_id"),
        ({"content": CALL, "synthetic": {"type": "timer", "tool_call_id": "c"}}, "synthetic.timer.due"),
        ({"content": CALL, "synthetic": {"type": "thread_report", "tool_call_id": "c"}}, "synthetic.thread_report."),
        (
            {"content": CALL, "synthetic": {"type": "compaction_complete", "compaction_id": "k", "up_to": 1}},
            "synthetic",
        ),
        ({"content": {"type": "wake"}, "synthetic": {"type": "bounce", "tool_call_id": "c"}}, "synthetic"),
        ({"content": {"type": "wake"}, "synthetic": {"type": "compaction_complete", "up_to": 1}}, "synthetic."),
        ({"content": {"type": "oauth_required", "id": "c"}}, "content.auth_url"),
        ({"content": {"type": "oauth_required", "id": "c", "auth_url": "javascript:SECRET"}}, "content.auth_url"),
        ({"content": {"type": "oauth_required", "id": "c", "auth_url": f"https://{LONG}"}}, "content.auth_url"),
        ({"content": {**CHOICE, "choices": []}}, "content.choices"),
        ({"content": {**CHOICE, "choices": ["SECRET"] * 101}}, "content.choices"),
        ({"content": {**CHOICE, "choices": [LONG]}}, "content.choices.0"),
        ({"content": {**CHOICE, "prompt": LONG}}, "content.prompt"),
        ({"content": {**CHOICE, "default": 2}}, "content.default"),
        ({"content": {**CHOICE, "default": -1}}, "content.default"),
        ({"content": {**CHOICE, "response_url": "SECRET"}}, "content.response_url"),
        ({"content": CHOICE, "display_as": "SECRET"}, "display_as"),
    ],
)
def test_what_this_release_cannot_read_is_refused_even_from_ourselves(fields: dict[str, Any], field: str) -> None:
    reason = refusal(signed({"group_id": "t-1", "message_id": "m", **fields}))

    assert reason.startswith(field)
    assert "SECRET" not in reason


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
