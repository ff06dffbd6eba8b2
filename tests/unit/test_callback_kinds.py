"""What else than a result a tool server may call back with, and how one of them is told from its repeat."""

import json
from typing import Any

import pytest

from runtime.errors import Unavailable
from runtime.model.choices import View
from runtime.model.entries import Origin, TextItem
from runtime.model.messages import ChoiceContent, EventContent, MessageKey, OauthContent
from runtime.wire.items import unpack_items
from runtime.wire.messages import message_deduplication_id
from tests.support.receiver import Receiver, choice, event, oauth, view

KINDS = [event(), oauth(), choice()]


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


def test_an_event_is_enqueued_with_where_it_came_from(receiver: Receiver) -> None:
    receiver.call_back(event(associative=True, final=True, event_id="e-1"))

    [message] = receiver.queue.messages
    origin = Origin("builds", "call_1", receiver.clock.now_ms())
    assert (message.thread_id, message.key) == ("t-1", MessageKey("subscription_event", "event:call_1:e-1"))
    assert message.content == EventContent("call_1", (TextItem("up"),), True, True, None, origin)


def test_a_login_and_a_choice_are_enqueued_for_the_tokens_call(receiver: Receiver) -> None:
    receiver.call_back(oauth(event_id="e-1"))
    receiver.call_back(choice(event_id="e-2", default=1))

    login, asked = receiver.queue.messages
    origin = Origin("builds", "call_1", receiver.clock.now_ms())
    assert login.key == MessageKey("oauth_required", "oauth:call_1:e-1")
    assert login.content == OauthContent("call_1", "https://login.example/")
    assert asked.key == MessageKey("user_choice_required", "choice:call_1:e-2")
    url = "https://tools.example/chosen"
    assert asked.content == ChoiceContent("call_1", "Which?", ("this", "that"), 1, url, origin)


@pytest.mark.parametrize("body", KINDS)
def test_without_a_name_of_its_senders_each_post_is_one_of_its_own(receiver: Receiver, body: dict[str, Any]) -> None:
    for _ in range(2):
        receiver.call_back(body)

    first, second = receiver.queue.messages
    assert first.key != second.key


@pytest.mark.parametrize("body", KINDS)
def test_a_post_again_under_the_same_name_is_a_repeat_also_much_later(receiver: Receiver, body: dict[str, Any]) -> None:
    token = receiver.token(life_ms=10_000_000)
    for pause_s in (0, 3_600):
        receiver.clock.advance(pause_s)
        assert receiver.post(f"/cb/{token}", {**body, "event_id": "e-1"}).status == 200

    first, second = receiver.queue.messages
    assert first.key == second.key
    assert first.body_hash == second.body_hash
    assert message_deduplication_id(first) == message_deduplication_id(second)


def test_the_idempotency_key_counts_before_the_event_id_and_an_empty_one_does_not(receiver: Receiver) -> None:
    receiver.call_back(event(event_id="e-1"), idempotency_key="k-1")
    receiver.call_back(event(event_id="e-1"), idempotency_key="")
    receiver.call_back(event(event_id=""), idempotency_key="k-2")

    keys = [message.key.message_id for message in receiver.queue.messages]
    assert keys == ["event:call_1:k-1", "event:call_1:e-1", "event:call_1:k-2"]


@pytest.mark.parametrize("name", ["x" * 201, "two words", "grün", "line\n"])
def test_a_name_that_would_not_fit_into_an_id_is_replaced_by_its_hash(receiver: Receiver, name: str) -> None:
    for given in (name, name, name + "!"):
        receiver.call_back(event(event_id=given))

    first, again, other = (message.key.message_id.removeprefix("event:call_1:") for message in receiver.queue.messages)
    assert first == again != other
    assert len(first) == 64


def test_a_large_event_is_in_the_payload_store_before_it_is_accepted(receiver: Receiver) -> None:
    receiver.call_back(event("x" * 5_000, final=True))

    [message] = receiver.queue.messages
    assert isinstance(message.content, EventContent)
    assert message.content.items == ()
    assert message.content.final
    assert message.content.payload is not None
    assert unpack_items(receiver.payloads.get(message.content.payload)) == (TextItem("x" * 5_000),)


def test_a_view_is_kept_and_shown_and_wakes_nobody(receiver: Receiver) -> None:
    answer = receiver.call_back(view({"rows": [1, 2]}))

    [output] = receiver.queue.outputs
    assert (answer.status, receiver.queue.messages) == (200, [])
    assert receiver.views.of_thread("t-1") == (View("t-1", "board", {"rows": [1, 2]}, receiver.clock.now_ms()),)
    assert (output.type, output.thread_id, output.root_id) == ("view_update", "t-1", "root")
    assert (output.seq, output.metadata) == (None, None)
    assert output.fields == {"view_type": "board", "content": {"rows": [1, 2]}}


def test_a_view_need_not_name_the_call_its_token_is_for(receiver: Receiver) -> None:
    assert receiver.call_back(view(id="call_2", tool_call_id="call_3")).status == 200


def test_of_views_that_overtake_each_other_the_one_received_last_is_kept_and_no_older_one_is_shown(
    receiver: Receiver,
) -> None:
    newer = View("t-1", "board", "from another receiver", receiver.clock.now_ms() + 1)
    receiver.views.put(newer)

    answer = receiver.call_back(view("older"))

    assert answer.status == 200
    assert receiver.views.of_thread("t-1") == (newer,)
    assert receiver.queue.outputs == []


def test_a_view_that_goes_back_to_what_it_was_is_shown_again(receiver: Receiver) -> None:
    for content in ("red", "green", "red"):
        receiver.call_back(view(content))

    assert [output.fields["content"] for output in receiver.queue.outputs] == ["red", "green", "red"]
    assert len({output.output_id for output in receiver.queue.outputs}) == 3


def test_a_view_posted_again_under_one_name_is_one_output(receiver: Receiver) -> None:
    for _ in range(2):
        receiver.call_back(view("red"), idempotency_key="k-1")

    first, second = receiver.queue.outputs
    assert first.output_id == second.output_id


def test_a_large_view_is_in_the_payload_store_before_it_is_kept_and_shown(receiver: Receiver) -> None:
    receiver.call_back(view(["x" * 5_000]))

    [kept] = receiver.views.of_thread("t-1")
    [output] = receiver.queue.outputs
    assert kept.content is None
    assert kept.payload is not None
    assert json.loads(receiver.payloads.get(kept.payload)) == ["x" * 5_000]
    payload = {"key": kept.payload.key, "size_bytes": kept.payload.size_bytes}
    assert output.fields == {"view_type": "board", "content": None, "payload": payload}


def test_a_view_is_not_accepted_unless_it_is_kept(receiver: Receiver) -> None:
    receiver.views.is_down = True

    with pytest.raises(Unavailable):
        receiver.call_back(view())
    assert receiver.queue.outputs == []


def test_a_view_that_was_kept_and_not_shown_is_shown_when_it_is_posted_again(receiver: Receiver) -> None:
    receiver.queue.is_down = True
    with pytest.raises(Unavailable):
        receiver.call_back(view("red"))
    receiver.queue.is_down = False

    assert receiver.call_back(view("red")).status == 200
    assert [output.fields["content"] for output in receiver.queue.outputs] == ["red"]


@pytest.mark.parametrize("body", KINDS)
def test_no_callback_is_accepted_that_the_queue_did_not_accept(receiver: Receiver, body: dict[str, Any]) -> None:
    receiver.queue.is_down = True

    with pytest.raises(Unavailable):
        receiver.call_back(body)
