"""What each message does to history."""

from dataclasses import replace

import pytest

from runtime import phrases
from runtime.draft import Draft
from runtime.items import plain_text
from runtime.model.calls import CallState, CallTarget
from runtime.model.entries import Event, ImageItem, Item, PayloadRef, TextItem, ToolResult, UserText
from runtime.model.messages import EventContent, Message, MessageKey, ResultContent, TextContent
from runtime.model.threads import Thread
from runtime.prepare import prepare
from tests.support.values import (
    LIMITS,
    NOW_MS,
    THREAD,
    answered,
    asked,
    call_row,
    called,
    result_message,
    text_message,
    thread_of,
    undelivered_message,
    wake_message,
)


def prepared(thread: Thread, *messages: Message) -> Draft:
    return prepare(thread, messages, NOW_MS + 5_000, replace(LIMITS, item_chars=1_000, message_bytes=10_000))


def waiting_thread(target: CallTarget | None = None) -> Thread:
    call = call_row("call_1") if target is None else call_row("call_1", target=target)
    return thread_of(asked(), called("call_1"), calls=[call])


def thread_with_call(state: CallState) -> Thread:
    return thread_of(asked(), answered(), calls=[call_row("call_1", state)])


def test_a_text_begins_a_conversation() -> None:
    draft = prepared(thread_of(), text_message("hello", "user:7"))
    assert [entry.body for entry in draft.entries] == [UserText("hello", "user:7")]
    assert draft.asks


@pytest.mark.parametrize("message", [result_message("call_1"), undelivered_message("call_1"), wake_message()])
def test_nothing_but_a_text_begins_a_conversation(message: Message) -> None:
    draft = prepared(thread_of(), message)
    assert draft.entries == ()
    assert draft.dropped == ("unknown_thread",)


def test_a_text_detaches_the_pending_call_and_is_asked_behind_a_placeholder() -> None:
    draft = prepared(waiting_thread(), text_message("what time is it?"))
    placeholder, text = (entry.body for entry in draft.entries)
    assert placeholder == ToolResult("call_1", (TextItem(phrases.STILL_RUNNING),))
    assert isinstance(text, UserText)
    assert draft.calls["call_1"].state == "detached"


def test_a_tool_that_stops_when_interrupted_is_cancelled_and_its_server_is_told() -> None:
    draft = prepared(waiting_thread(CallTarget("builds", "http://x", "cancel")), text_message("stop"))
    body = draft.entries[0].body
    assert isinstance(body, ToolResult)
    assert body.cancelled is not None
    assert (body.cancelled.call_id, draft.calls["call_1"].state) == ("call_1", "cancelled")


def test_a_wait_that_something_ends_says_how_long_it_was() -> None:
    draft = prepared(waiting_thread(CallTarget(None, None, "end")), text_message("hello"))
    body = draft.entries[0].body
    assert isinstance(body, ToolResult)
    assert body.items == (TextItem(phrases.woken_after(5)),)
    assert draft.calls["call_1"].state == "answered"


def test_the_result_of_the_pending_call_answers_it() -> None:
    draft = prepared(waiting_thread(), result_message("call_1", "214 passed"))
    body = draft.entries[0].body
    assert isinstance(body, ToolResult)
    assert (body.items, body.cause) == ((TextItem("214 passed"),), "result:call_1")
    assert draft.calls["call_1"].state == "answered"


def test_a_confirmed_subscription_is_subscribed() -> None:
    draft = prepared(waiting_thread(), result_message("call_1", subscription=True))
    assert draft.calls["call_1"].state == "subscribed"


@pytest.mark.parametrize("state", ["detached", "failed"])
@pytest.mark.parametrize(("subscription", "after"), [(False, "answered"), (True, "subscribed")])
def test_a_late_result_arrives_as_an_event(state: CallState, subscription: bool, after: CallState) -> None:
    draft = prepared(thread_with_call(state), result_message("call_1", "late", subscription=subscription))
    (entry,) = draft.entries
    assert isinstance(entry.body, Event)
    assert (entry.body.source, entry.body.items) == ("late_result", (TextItem("late"),))
    assert draft.calls["call_1"].state == after


@pytest.mark.parametrize("state", ["detached", "failed"])
def test_a_late_result_never_lands_behind_an_unanswered_call(state: CallState) -> None:
    other = call_row("call_2", position=4)
    thread = thread_of(asked(), answered(), asked(), called("call_2"), calls=[call_row("call_1", state), other])
    draft = prepared(thread, result_message("call_1", "late"))
    assert [type(entry.body) for entry in draft.entries] == [ToolResult, Event]
    assert (draft.calls["call_2"].state, draft.calls["call_1"].state) == ("detached", "answered")


@pytest.mark.parametrize("state", ["answered", "subscribed", "cancelled", "ended"])
def test_a_result_nobody_waits_for_is_dropped_and_counted(state: CallState) -> None:
    draft = prepared(thread_with_call(state), result_message("call_1"))
    assert (draft.entries, draft.calls, draft.dropped) == ((), {}, (f"result_of_{state}_call",))


def test_a_result_for_a_call_nobody_made_is_dropped_and_counted() -> None:
    draft = prepared(thread_of(asked(), answered()), result_message("call_9"))
    assert (draft.entries, draft.dropped) == ((), ("result_of_unknown_call",))


def test_a_pending_call_that_was_not_delivered_gets_a_result_that_says_so() -> None:
    draft = prepared(waiting_thread(), undelivered_message("call_1", "Error: connection refused"))
    body = draft.entries[0].body
    assert isinstance(body, ToolResult)
    assert (body.status, body.items) == ("error", (TextItem("Error: connection refused"),))
    assert draft.calls["call_1"].state == "failed"


def test_a_detached_call_that_was_not_delivered_is_told_as_an_event() -> None:
    draft = prepared(thread_with_call("detached"), undelivered_message("call_1"))
    body = draft.entries[0].body
    assert isinstance(body, Event)
    assert (body.source, body.status, draft.calls["call_1"].state) == ("undelivered", "error", "failed")


def test_a_hand_over_that_failed_detaches_another_pending_call_first() -> None:
    other = call_row("call_2", position=4)
    thread = thread_of(asked(), answered(), asked(), called("call_2"), calls=[call_row("call_1", "detached"), other])
    draft = prepared(thread, undelivered_message("call_1"))
    assert [type(entry.body) for entry in draft.entries] == [ToolResult, Event]
    assert (draft.calls["call_1"].state, draft.calls["call_2"].state) == ("failed", "detached")


@pytest.mark.parametrize("state", ["answered", "failed", "subscribed", "cancelled", "ended"])
def test_a_failed_hand_over_of_a_call_that_is_not_running_changes_nothing(state: CallState) -> None:
    draft = prepared(thread_with_call(state), undelivered_message("call_1"))
    assert (draft.entries, draft.calls, draft.dropped) == ((), {}, ("undelivered_of_call_not_running",))


def test_a_wake_appends_nothing() -> None:
    draft = prepared(thread_of(asked()), wake_message())
    assert (draft.entries, draft.asks, len(draft.consumed)) == ((), True, 1)


def test_a_batch_is_taken_in_the_order_of_delivery() -> None:
    draft = prepared(waiting_thread(), text_message("and?"), result_message("call_1", "done"))
    assert [type(entry.body) for entry in draft.entries] == [ToolResult, UserText, Event]
    assert [entry.position for entry in draft.entries] == [3, 4, 5]


def test_the_same_result_twice_in_one_delivery_is_one() -> None:
    draft = prepared(waiting_thread(), result_message("call_1", "a"), result_message("call_1", "a"))
    assert len(draft.entries) == 1
    assert draft.dropped == ("result_of_answered_call",)


def test_metadata_is_replaced_only_by_a_message_sent_later() -> None:
    first = text_message("a", metadata={"user_id": "ann", "n": 1}, sent_ms=2_000)
    late = text_message("b", metadata={"user_id": "bob"}, sent_ms=1_000)
    draft = prepared(thread_of(), first, late, text_message("c"))
    assert (draft.row.person.user_id, draft.row.person.metadata) == ("ann", {"user_id": "ann", "n": 1})


def test_metadata_without_a_user_keeps_the_user_before() -> None:
    first = text_message("a", metadata={"user_id": "ann"}, sent_ms=1)
    draft = prepared(thread_of(), first, text_message("b", metadata={"n": 2}, sent_ms=2))
    assert (draft.row.person.user_id, draft.row.person.metadata) == ("ann", {"n": 2})


def test_a_text_over_the_limit_is_cut_with_a_note() -> None:
    draft = prepared(thread_of(), text_message("x" * 1_001))
    body = draft.entries[0].body
    assert isinstance(body, UserText)
    assert body.text == "x" * 1_000 + phrases.cut_note(1_000, 1_001)


def test_an_empty_text_is_stored_as_something_a_model_accepts() -> None:
    body = prepared(thread_of(), text_message(" \n ")).entries[0].body
    assert isinstance(body, UserText)
    assert body.text == phrases.EMPTY_MESSAGE


def result_items(*items: Item, item_chars: int = 100, message_bytes: int = 1_000) -> tuple[Item, ...]:
    message = replace(result_message("call_1"), content=ResultContent("call_1", items))
    limits = replace(LIMITS, item_chars=item_chars, message_bytes=message_bytes)
    body = prepare(waiting_thread(), [message], NOW_MS, limits).entries[0].body
    assert isinstance(body, ToolResult)
    return body.items


def test_each_item_is_cut_by_itself_and_those_behind_it_are_kept() -> None:
    shown = result_items(TextItem("x" * 101), TextItem("the answer is 42"))
    assert shown == (TextItem("x" * 100 + phrases.cut_note(100, 101)), TextItem("the answer is 42"))


def test_a_result_of_very_many_items_stays_within_its_bytes_and_says_what_is_missing() -> None:
    shown = result_items(*(TextItem("a") for _ in range(99_000)), message_bytes=100_000)
    assert len(shown) < 3_000
    assert "of its items are missing or incomplete" in plain_text(shown[-1:])


def test_a_text_whose_bytes_are_many_is_cut_within_a_character() -> None:
    limits = replace(LIMITS, item_chars=1_000, message_bytes=1_000)
    draft = prepare(thread_of(), [text_message("\u4e2d" * 500)], NOW_MS, limits)
    body = draft.entries[0].body
    assert isinstance(body, UserText)
    assert body.text == "\u4e2d" * 333 + phrases.cut_note(333, 500)


def test_a_text_of_control_characters_is_cut_by_what_they_take_in_a_row() -> None:
    limits = replace(LIMITS, item_chars=1_000, message_bytes=1_000)
    body = prepare(thread_of(), [text_message("\x01" * 500)], NOW_MS, limits).entries[0].body
    assert isinstance(body, UserText)
    assert body.text == "\x01" * 166 + phrases.cut_note(166, 500)


def test_an_image_stays_where_it_was_among_the_texts() -> None:
    image = ImageItem("", "image/png", PayloadRef("k", 5_000))
    assert result_items(TextItem("a"), image, TextItem("b")) == (TextItem("a"), image, TextItem("b"))


def test_where_all_of_it_lies_is_kept_with_what_was_cut() -> None:
    ref = PayloadRef("k", 5_000)
    said = Message(THREAD, MessageKey("text", "user:1"), TextContent("x" * 1_001, payload=ref), "")
    result = replace(result_message("call_1"), content=ResultContent("call_1", (TextItem("x"),), payload=ref))
    text = prepared(thread_of(), said).entries[0].body
    in_time = prepared(waiting_thread(), result).entries[0].body
    late = prepared(thread_with_call("detached"), result).entries[0].body
    event = replace(result, content=EventContent("call_1", (TextItem("x"),), associative=True, payload=ref))
    fired = prepared(thread_with_call("subscribed"), event).entries[0].body
    assert isinstance(text, UserText)
    assert isinstance(in_time, ToolResult)
    assert isinstance(late, Event)
    assert isinstance(fired, Event)
    assert (text.whole, in_time.whole, late.whole, fired.whole) == (ref, ref, ref, ref)
