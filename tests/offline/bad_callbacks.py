"""Requests to the receiver that it has to refuse: what each is told, and under which name it is counted."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.mac import authentication_code
from runtime.ports import Key
from tests.offline.callers import Answer, Call, Receiver, changed_at, signed_parts

A_DAY_MS = 86_400_000
LIMIT_BYTES = 4 * 1024 * 1024
A_STRANGERS_KEY = b"a key that a stranger made up"
BadBody = tuple[str, Callable[[Call], bytes], str]


@dataclass(frozen=True, slots=True)
class Target:
    """The receiver, a call that waits, another that waits, too, the key that signs for both, and the time there."""

    receiver: Receiver
    call: Call
    other: Call
    key: Key
    now_ms: int

    def post(self, token: str, body: bytes | None = None) -> Answer:
        return self.receiver.post(token, self.call.result() if body is None else body)

    def ask(self, method: str, path: str) -> Answer:
        return self.receiver.ask(method, path.replace("TOKEN", self.call.token), self.call.result())


@dataclass(frozen=True, slots=True)
class Refusal:
    """`error` is what the answer says, whole; `counted` the metric."""

    name: str
    request: Callable[[Target], Answer]
    status: int
    error: str
    counted: str


def _by_path() -> list[Refusal]:
    nowhere = (404, "there is nothing here", "callbacks_not_found")
    wrong_method = (405, "use POST", "callbacks_wrong_method")
    paths = {
        "the token in the query": "/cb?token=TOKEN",
        "the token in the query, behind a slash": "/cb/?token=TOKEN",
        "an empty token": "/cb/",
        "no token and no slash": "/cb",
        "another path": "/callbacks/TOKEN",
        "a path in capitals": "/CB/TOKEN",
        "more behind the token": "/cb/TOKEN/more",
        "a path above": "/cb/../cb/TOKEN",
        "the root": "/",
    }

    def asked(method: str, path: str) -> Callable[[Target], Answer]:
        return lambda at: at.ask(method, path)

    return [
        *(Refusal(name, asked("POST", path), *nowhere) for name, path in paths.items()),
        Refusal("another method on another path", asked("DELETE", "/cb/"), *nowhere),
        *(
            Refusal(f"{method} with a good token", asked(method, "/cb/TOKEN"), *wrong_method)
            for method in ("GET", "PUT", "PATCH", "DELETE")
        ),
        Refusal("GET with a forged token", lambda at: at.receiver.ask("GET", "/cb/x.y"), *wrong_method),
        Refusal(
            "PUT of too much",
            lambda at: at.receiver.ask("PUT", f"/cb/{at.call.token}", b"x" * (LIMIT_BYTES + 1)),
            *wrong_method,
        ),
    ]


def _by_size() -> list[Refusal]:
    too_large = (413, f"the body is larger than {LIMIT_BYTES} bytes", "callbacks_too_large")
    return [
        Refusal("a byte too much", lambda at: at.post(at.call.token, b"x" * (LIMIT_BYTES + 1)), *too_large),
        Refusal("too much with a forged token", lambda at: at.post("x.y", b"x" * (LIMIT_BYTES + 1)), *too_large),
    ]


def _by_token() -> list[Refusal]:
    malformed = (403, "the token is malformed", "callbacks_malformed_token")
    forged = (403, "the token is forged", "callbacks_forged_token")
    expired = (403, "the token is expired", "callbacks_expired_token")

    def tried(name: str, change: Callable[[str], str], answer: tuple[int, str, str]) -> Refusal:
        return Refusal(name, lambda at: at.post(change(at.call.token)), *answer)

    def signed(name: str, parts: Callable[[Target], object], answer: tuple[int, str, str]) -> Refusal:
        return Refusal(name, lambda at: at.post(signed_parts(at.key, parts(at))), *answer)

    def made(at: Target, secret: bytes, key_id: str) -> Answer:
        return at.post(at.call.another_token(Key(key_id, secret, 0), at.now_ms + A_DAY_MS))

    def for_messages(at: Target) -> Answer:
        payload = at.call.token.partition(".")[0]
        return at.post(f"{payload}.{authentication_code(at.key.secret, 'message', payload.encode())}")

    return [
        tried("a word for a token", lambda _: "token", malformed),
        tried("a dot for a token", lambda _: ".", malformed),
        tried("a token without its code", lambda token: token.partition(".")[0], malformed),
        tried("a token without its payload", lambda token: f".{token.partition('.')[2]}", malformed),
        tried("a token of 3,000 characters", lambda _: "A" * 3_000, malformed),
        tried("a token that is no UTF-8", lambda _: "%ED%A0%80.%FF", malformed),
        tried("a payload with a character cut off", lambda token: token[1:], malformed),
        tried("a payload that is padded", lambda token: token.replace(".", "=."), malformed),
        tried("a code with its end cut off", lambda token: token[:-1], forged),
        tried("a code with one character more", lambda token: f"{token}A", forged),
        tried("a code with another last character", lambda token: changed_at(token, -1), forged),
        tried("an empty code", lambda token: f"{token.partition('.')[0]}.", forged),
        tried("a payload of another key id", lambda token: changed_at(token, 3), forged),
        Refusal("a code of a stranger's key", lambda at: made(at, A_STRANGERS_KEY, at.key.key_id), *forged),
        Refusal("a key id that nobody knows", lambda at: made(at, at.key.secret, "k99"), *forged),
        Refusal("a code made for messages", for_messages, *forged),
        signed("an object under a true code", lambda _: {"key": "k1"}, malformed),
        signed("a list that is too short", lambda at: [at.key.key_id, at.call.thread_id], malformed),
        signed("an expiry in words", lambda at: [at.key.key_id, "r", "t", "c", "s", "never"], malformed),
        signed("a token that expired in 1970", lambda at: [at.key.key_id, "r", "t", "c", "s", 1], expired),
        Refusal(
            "a token that expired a second ago",
            lambda at: at.post(at.call.another_token(at.key, at.now_ms - 1_000)),
            *expired,
        ),
        Refusal("a forged token with a body that nobody can read", lambda at: at.post("x.y", b"\xff"), *malformed),
    ]


def _by_body() -> list[Refusal]:
    def fields(**changed: Any) -> Callable[[Call], bytes]:
        return lambda call: call.result(**changed)

    def without(name: str) -> Callable[[Call], bytes]:
        return lambda call: json.dumps({k: v for k, v in json.loads(call.result()).items() if k != name}).encode()

    bodies: Sequence[BadBody] = [
        ("no body", lambda _: b"", "body is not JSON"),
        ("a body that is no JSON", lambda _: b"Done.", "body is not JSON"),
        ("a form", lambda _: b"type=tool_result&text=Done.", "body is not JSON"),
        ("a list", lambda _: b"[]", "body is not a JSON object"),
        ("100,000 levels of lists", lambda _: b"[" * 100_000, "body is nested too deeply"),
        ("NaN", fields(extra=float("nan")), "body is not a finite number"),
        ("no type", without("type"), "type is missing"),
        ("an unknown type", fields(type="telegram"), "type is unknown"),
        ("a type that is a list", fields(type=["tool_result"]), "type is unknown"),
        ("no group_id", without("group_id"), "group_id is missing"),
        ("a group_id that is a number", fields(group_id=7), "group_id is not valid (string_type)"),
        ("no id", without("id"), "id is missing"),
        ("an id that is null", fields(id=None), "id is not valid (string_type)"),
        ("a text that is a list", fields(text=["Done."]), "text is not valid (string_type)"),
        ("content that is a number", fields(content=7), "content.0 is not valid (model_attributes_type)"),
        (
            "an item of an unknown type",
            fields(content=[{"type": "song"}]),
            "content.0 is not valid (union_tag_invalid)",
        ),
        ("an item without a text", fields(content=[{"type": "text"}]), "content.0.text.text is missing"),
        (
            "an image without data",
            fields(content=[{"type": "image", "mediaType": "x"}]),
            "content.0.image.data is missing",
        ),
        ("a display_as that is a number", fields(display_as=7), "display_as is not valid (string_type)"),
        ("a display_as that is too long", fields(display_as="d" * 10_001), "display_as is not valid (string_too_long)"),
        ("a subscription in words", fields(subscription="yes"), "subscription is not valid (bool_type)"),
        (
            "an event without a text",
            fields(type="subscription_event", tool_call_id="c", text=None),
            "text is not valid (string_type)",
        ),
        ("a sign-in without a URL", fields(type="oauth"), "auth_url is missing"),
        (
            "a choice without choices",
            fields(type="user_choice", prompt="?", response_url="https://e.com"),
            "choices is missing",
        ),
        ("a view without a type", fields(type="view_update", content=1), "view_type is missing"),
        ("a bad field, for another group", fields(group_id="other", text=7), "text is not valid (string_type)"),
    ]

    def posted(body: Callable[[Call], bytes]) -> Callable[[Target], Answer]:
        return lambda at: at.post(at.call.token, body(at.call))

    def binary(at: Target) -> Answer:
        # Text that is no UTF-8 would be mended on its way to the function: what is not called text is not touched.
        body = at.call.result().replace(b"Done.", b"\xff\xfe")
        return at.receiver.ask("POST", f"/cb/{at.call.token}", body, "application/octet-stream")

    return [
        Refusal("a body that is no UTF-8", binary, 400, "body is not UTF-8", "callbacks_bad_body"),
        *(Refusal(name, posted(body), 400, error, "callbacks_bad_body") for name, body, error in bodies),
    ]


def _by_call() -> list[Refusal]:
    not_its_call = (403, "the group or the call is not the token's", "callbacks_of_another_call")
    return [
        Refusal("the result of another call", lambda at: at.post(at.call.token, at.other.result()), *not_its_call),
        Refusal(
            "another call of the same thread",
            lambda at: at.post(at.call.token, at.call.result(id=at.other.call_id)),
            *not_its_call,
        ),
        Refusal(
            "the same call of another thread",
            lambda at: at.post(at.call.token, at.call.result(group_id=at.other.thread_id)),
            *not_its_call,
        ),
        Refusal("another call's token", lambda at: at.post(at.other.token, at.call.result()), *not_its_call),
    ]


REFUSALS = [*_by_path(), *_by_size(), *_by_token(), *_by_body(), *_by_call()]
