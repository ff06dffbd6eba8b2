import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.adapters.memory.keyring import FixedKeyring
from runtime.callbacks import Capability, Expired, callback_url, make_token, read_token
from runtime.errors import Unavailable
from runtime.mac import authentication_code
from runtime.model.entries import TextItem
from runtime.model.messages import ResultContent
from runtime.ports import Key
from runtime.wire.items import unpack_items
from runtime.wire.messages import message_deduplication_id
from tests.support.receiver import KEY, KEYS, Receiver, choice, event, oauth, result, view


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


def test_a_token_says_what_its_holder_may_answer_and_until_when() -> None:
    token = make_token(
        KEY, root_id="root", thread_id="a/b:c#d", call_id="call_1", toolset="builds", expires_at_ms=1_000
    )

    capability = Capability("root", "a/b:c#d", "call_1", "builds", 1_000)
    assert read_token(token, KEYS, 999) == capability
    assert read_token(token, KEYS, 1_000) == Expired(capability)


def test_a_repeated_hand_over_gives_the_same_callback_url() -> None:
    first, again = (
        callback_url(
            receiver_url,
            make_token(KEY, root_id="r", thread_id="t", call_id="c", toolset="s", expires_at_ms=5),
        )
        for receiver_url in ("https://receiver.example", "https://receiver.example/")
    )

    assert first == again
    assert first.startswith("https://receiver.example/cb/")


@given(st.text(max_size=300))
def test_no_text_whatever_is_taken_for_a_token(text: str) -> None:
    assert read_token(text, KEYS, 0) in ("malformed", "forged")


@given(st.integers(min_value=0), st.characters())
def test_a_token_with_any_one_character_changed_is_refused(at: int, char: str) -> None:
    token = make_token(KEY, root_id="r", thread_id="t", call_id="c", toolset="s", expires_at_ms=10**15)
    index = at % len(token)
    changed = token[:index] + char + token[index + 1 :]

    assert changed == token or read_token(changed, KEYS, 0) in ("malformed", "forged")


def test_a_token_made_for_another_call_with_another_secret_is_forged() -> None:
    token = make_token(Key("k1", b"guessed", 0), root_id="r", thread_id="t", call_id="c", toolset="s", expires_at_ms=5)

    assert read_token(token, KEYS, 0) == "forged"


def test_a_code_made_for_a_message_does_not_open_a_callback() -> None:
    payload = base64.urlsafe_b64encode(b'["k1","r","t","c","s",9000]').rstrip(b"=").decode()
    code = authentication_code(KEY.secret, "message", payload.encode())

    assert read_token(f"{payload}.{code}", KEYS, 0) == "forged"


def test_a_token_of_a_key_that_signs_no_more_is_still_good() -> None:
    keys = FixedKeyring(KEY, Key("k2", b"newer", 1))
    token = make_token(KEY, root_id="r", thread_id="t", call_id="c", toolset="s", expires_at_ms=10)

    assert isinstance(read_token(token, keys, 5), Capability)


def test_a_result_is_enqueued_for_the_tokens_thread_with_where_it_came_from(receiver: Receiver) -> None:
    answer = receiver.call_back(result(subscription=True, display_as="Build"))

    [message] = receiver.queue.messages
    content = message.content
    assert (answer.status, answer.body) == (200, '{"ok":true}')
    assert isinstance(content, ResultContent)
    assert (message.thread_id, message.key.type, message.key.message_id) == ("t-1", "tool_result", "result:call_1")
    assert (content.items, content.subscription, content.display_as) == ((TextItem("done"),), True, "Build")
    assert content.origin is not None
    assert (content.origin.toolset, content.origin.call_id) == ("builds", "call_1")
    assert content.origin.received_at_ms == receiver.clock.now_ms()


def test_a_late_repeat_is_accepted_and_is_the_same_message_to_the_queue_unless_its_body_differs(
    receiver: Receiver,
) -> None:
    token = receiver.token(life_ms=10_000_000)
    statuses = []
    for pause_s, text in ((0, "done"), (1, "done"), (3_600, "done"), (0, "failed")):
        receiver.clock.advance(pause_s)
        statuses.append(receiver.post(f"/cb/{token}", result(text=text)).status)

    names = [message_deduplication_id(message) for message in receiver.queue.messages]
    hashes = [message.body_hash for message in receiver.queue.messages]
    assert statuses == [200] * 4
    assert names[0] == names[1] == names[2] != names[3]
    assert hashes[0] == hashes[1] == hashes[2] != hashes[3]
    assert len({message.key for message in receiver.queue.messages}) == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "reason"),
    [
        ("POST", "/", None, 404, "no_such_path"),
        ("POST", "/cb", None, 404, "no_such_path"),
        ("POST", "/cb/", None, 404, "no_such_path"),
        ("GET", "/cb/", None, 404, "no_such_path"),
        ("POST", "/cb/a/b", None, 404, "no_such_path"),
        ("POST", "/other/TOKEN", None, 404, "no_such_path"),
        ("GET", "/cb/TOKEN", None, 405, "method"),
        ("PUT", "/cb/junk", b"x" * 200_000, 405, "method"),
        ("POST", "/cb/junk", b"x" * 200_000, 413, "too_large"),
        ("POST", "/cb/junk", b"not json", 403, "malformed"),
        ("POST", "/cb/junk.junk", b"not json", 403, "malformed"),
        ("POST", "/cb/" + "x" * 5_000, b"not json", 403, "malformed"),
        ("POST", "/cb/WyJrMSJd.junk", b"not json", 403, "malformed"),
        ("POST", "/cb/FORGED", b"not json", 403, "forged"),
        ("POST", "/cb/UNKNOWN", b"not json", 403, "forged"),
        ("POST", "/cb/EXPIRED", b"not json", 403, "expired"),
        ("POST", "/cb/TOKEN", b"not json", 400, "bad_body"),
        ("POST", "/cb/TOKEN", b"\xff", 400, "bad_body"),
        ("POST", "/cb/TOKEN", b"{}", 400, "bad_body"),
        ("POST", "/cb/TOKEN", json.dumps(result(type="what")).encode(), 400, "bad_body"),
        ("POST", "/cb/TOKEN", json.dumps(result(group_id="t-2", text=7)).encode(), 400, "bad_body"),
        ("POST", "/cb/TOKEN", json.dumps(result(group_id="t-2")).encode(), 403, "not_the_tokens_call"),
        ("POST", "/cb/TOKEN", json.dumps(result(id="call_2")).encode(), 403, "not_the_tokens_call"),
        ("POST", "/cb/TOKEN", json.dumps(event(tool_call_id="call_2")).encode(), 403, "not_the_tokens_call"),
        ("POST", "/cb/TOKEN", json.dumps(event(group_id="t-2")).encode(), 403, "not_the_tokens_call"),
        ("POST", "/cb/TOKEN", json.dumps(oauth(id="call_2")).encode(), 403, "not_the_tokens_call"),
        ("POST", "/cb/TOKEN", json.dumps(choice(id="call_2")).encode(), 403, "not_the_tokens_call"),
        ("POST", "/cb/TOKEN", json.dumps(view(group_id="t-2")).encode(), 403, "not_the_tokens_call"),
    ],
)
def test_what_is_refused_is_refused_by_the_first_check_it_fails_and_never_enqueued(
    receiver: Receiver, method: str, path: str, body: bytes | None, status: int, reason: str
) -> None:
    tokens = {
        "TOKEN": receiver.token(),
        "FORGED": receiver.token(key=Key("k1", b"guessed", 0)),
        "UNKNOWN": receiver.token(key=Key("k9", b"guessed", 0)),
        "EXPIRED": receiver.token(life_ms=0),
    }
    for name, token in tokens.items():
        path = path.replace(name, token)

    answer = receiver.post(path, body, method)

    assert (answer.status, answer.reason) == (status, reason)
    assert json.loads(answer.body)["error"]
    assert receiver.queue.messages == []
    assert receiver.queue.outputs == []
    assert receiver.views.views == {}


def test_whose_token_it_was_that_expired_is_told_to_whoever_counts_and_not_to_the_caller(receiver: Receiver) -> None:
    answer = receiver.post(f"/cb/{receiver.token(life_ms=0)}")

    assert answer.about is not None
    assert answer.about.toolset == "builds"
    assert "builds" not in answer.body


def test_a_refusal_for_size_states_the_limit(receiver: Receiver) -> None:
    assert "100000" in receiver.call_back(b"x" * 100_001).body


def test_a_refused_field_is_named_and_its_value_is_not(receiver: Receiver) -> None:
    answer = receiver.call_back(result(text=["SECRET"]))

    assert "text" in answer.body
    assert "SECRET" not in answer.body


def test_a_large_result_is_in_the_payload_store_before_it_is_accepted(receiver: Receiver) -> None:
    answer = receiver.call_back(result(text="x" * 5_000))
    again = receiver.call_back(result(text="x" * 5_000))

    first, second = receiver.queue.messages
    assert isinstance(first.content, ResultContent)
    assert first.content.items == ()
    assert first.content.payload is not None
    assert unpack_items(receiver.payloads.get(first.content.payload)) == (TextItem("x" * 5_000),)
    assert answer.status == again.status == 200
    assert message_deduplication_id(first) == message_deduplication_id(second)


def test_nothing_is_accepted_that_the_queue_did_not_accept(receiver: Receiver) -> None:
    receiver.queue.is_down = True

    with pytest.raises(Unavailable):
        receiver.call_back()
