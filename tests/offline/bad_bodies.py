"""Bodies that anybody with the right to send may put on the input queue, and what becomes of each."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime import phrases
from runtime.mac import authentication_code
from runtime.model.entries import TextItem
from runtime.model.messages import Message, MessageKey, ResultContent, WakeContent
from runtime.ports import Key
from runtime.wire.contents import MAX_METADATA_BYTES
from runtime.wire.messages import body_hash, message_body
from runtime.wire.text import canonical_json

SQS_BODY_BYTES = 1024 * 1024
ODD_CHARACTERS = "/:#?&=%'\"\\<>{}[]()*+,;|~^`!@$"
NEEDS_AUTH = "auth is missing or not valid, and only text and answers may come without"
SPOKEN = "A message."


@dataclass(frozen=True, slots=True)
class At:
    """Where a body is sent to, a thread beside it, and the key that messages of ours are signed with."""

    thread_id: str
    beside_id: str
    key: Key

    def text(self, text: str = SPOKEN, **fields: Any) -> str:
        return self.body(content={"type": "text", "text": text}, **fields)

    def body(self, **fields: Any) -> str:
        return json.dumps({"group_id": self.thread_id, **fields})

    def ours(self, message: Message | None = None) -> dict[str, Any]:
        """The fields of a message of ours; a wake unless another is given."""
        fields: dict[str, Any] = json.loads(message_body(message or wake(self.thread_id), self.key))
        return fields

    def signed(self, fields: Mapping[str, Any], key_id: str | None = None) -> str:
        """The fields with a true signature, under the name of another key if one is given."""
        code = authentication_code(self.key.secret, "message", canonical_json(fields).encode())
        return json.dumps({**fields, "auth": f"{key_id or self.key.key_id}.{code}"})


@dataclass(frozen=True, slots=True)
class Parked:
    """It lies on the dead-letter queue, with this reason; with none where the body fills its message."""

    reason: str | None


@dataclass(frozen=True, slots=True)
class Heard:
    """It entered history as this text of the user, and no other."""

    text: str = SPOKEN
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Dropped:
    """It left no trace but this count."""

    counted: str


@dataclass(frozen=True, slots=True)
class Case:
    """`thread_id_end` is what the id of its thread ends with."""

    name: str
    write: Callable[[At], str]
    fate: Parked | Heard | Dropped
    thread_id_end: str = ""


def wake(thread_id: str, version: int = 1) -> Message:
    content = WakeContent()
    return Message(thread_id, MessageKey("wake", f"wake:{thread_id}:{version}"), content, body_hash(content), 0)


def result(thread_id: str, call_id: str, text: str) -> Message:
    content = ResultContent(call_id, (TextItem(text),))
    return Message(thread_id, MessageKey("tool_result", f"result:{call_id}"), content, body_hash(content), 0)


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def in_metadata(at: At, json_text: str) -> str:
    return at.text(metadata={"x": "HERE"}).replace('"HERE"', json_text)


def filled(body: Callable[[str], str]) -> str:
    """The body with so much text in it that it is as large as SQS takes."""
    return body("x" * (SQS_BODY_BYTES - len(body(""))))


def _unreadable() -> list[Case]:
    no_json, too_deep = Parked("body is not JSON"), Parked("body is nested too deeply")
    no_object, not_finite = Parked("body is not a JSON object"), Parked("body is not a finite number")
    return [
        Case("plain words", lambda _: "Hello?", no_json),
        Case("JSON that is cut off", lambda at: at.text()[:-1], no_json),
        Case("JSON behind a byte order mark", lambda at: f"\ufeff{at.text()}", no_json),
        Case("a number of 5,000 digits", lambda at: in_metadata(at, "1" * 5_000), no_json),
        Case("a list", lambda _: "[]", no_object),
        Case("a string", lambda _: '"Hello"', no_object),
        Case("null", lambda _: "null", no_object),
        Case("NaN", lambda at: in_metadata(at, "NaN"), not_finite),
        Case("a number beyond all numbers", lambda at: in_metadata(at, "1e999"), not_finite),
        Case("a hundred levels of lists", lambda at: in_metadata(at, nested(100)), too_deep),
        Case("half a million levels of lists", lambda at: in_metadata(at, nested(500_000)), too_deep),
        Case("a mebibyte of nothing", lambda _: "x" * SQS_BODY_BYTES, Parked(None)),
    ]


def _wrong_fields() -> list[Case]:
    other_group = Parked("group_id is not the message group the record came in")
    text = {"type": "text", "text": SPOKEN}

    def group(value: Any) -> Callable[[At], str]:
        return lambda at: at.text(group_id=value)

    def content(value: Any) -> Callable[[At], str]:
        return lambda at: at.body(content=value)

    def wrong(fault: str, kind: str) -> Parked:
        return Parked(f"{fault} is not valid ({kind})")

    return [
        Case("no group_id", lambda _: json.dumps({"content": text}), Parked("group_id is missing")),
        Case("a group_id that is null", group(None), wrong("group_id", "string_type")),
        Case("a group_id that is a number", group(7), wrong("group_id", "string_type")),
        Case("an empty group_id", group(""), wrong("group_id", "string_pattern_mismatch")),
        Case("a group_id of 129 characters", group("g" * 129), wrong("group_id", "string_pattern_mismatch")),
        Case("a group_id with a space", group("a b"), wrong("group_id", "string_pattern_mismatch")),
        Case("a group_id with an umlaut", group("ä"), wrong("group_id", "string_pattern_mismatch")),
        Case("a group_id with a NUL", group("a\x00"), wrong("group_id", "string_pattern_mismatch")),
        Case("the group_id of another thread", lambda at: at.text(group_id=at.beside_id), other_group),
        Case("no content", lambda at: at.body(), Parked("content is missing")),
        Case("content that is text", content(SPOKEN), wrong("content", "dict_type")),
        Case("content without a type", content({"text": SPOKEN}), Parked("content.type is missing")),
        Case("content of an unknown type", content({"type": "telegram"}), Parked("content.type is unknown")),
        Case("content whose type is a list", content({"type": ["text"]}), Parked("content.type is unknown")),
        Case(
            "an answer to nothing",
            content({"type": "user_choice_answer", "selected": 0}),
            Parked("content.id is missing"),
        ),
        Case(
            "an answer in words",
            content({"type": "user_choice_answer", "id": "choice", "selected": "red"}),
            wrong("content.selected", "int_type"),
        ),
        Case("no text", content({"type": "text"}), Parked("content.text is missing")),
        Case("a text that is null", content({**text, "text": None}), wrong("content.text", "string_type")),
        Case("a text that is a number", content({**text, "text": 7}), wrong("content.text", "string_type")),
        Case("an empty message_id", lambda at: at.text(message_id=""), wrong("message_id", "string_too_short")),
        Case("a message_id that is a number", lambda at: at.text(message_id=7), wrong("message_id", "string_type")),
        Case("metadata that is a list", lambda at: at.text(metadata=[]), wrong("metadata", "dict_type")),
        Case(
            "a user_id that is a number",
            lambda at: at.text(metadata={"user_id": 7}),
            Parked("metadata.user_id is not a string"),
        ),
        Case(
            "metadata of a byte too much",
            lambda at: at.text(metadata={"x": "y" * (MAX_METADATA_BYTES - len('{"x":""}') + 1)}),
            Parked(f"metadata is larger than {MAX_METADATA_BYTES} bytes"),
        ),
    ]


def _claims() -> list[Case]:
    """What only the runtime may say, said by others."""
    forged = f"k1.{'A' * 43}"
    answer = {"type": "tool_result", "id": "call_1", "content": "Done."}
    undelivered = {"type": "undelivered", "tool_call_id": "call_1"}
    origin = {"toolset": "example", "call_id": "call_1", "received_at": 1}

    def callback_code(at: At) -> str:
        fields = {name: value for name, value in at.ours().items() if name != "auth"}
        code = authentication_code(at.key.secret, "callback", canonical_json(fields).encode())
        return json.dumps({**fields, "auth": f"{at.key.key_id}.{code}"})

    refused: dict[str, Callable[[At], str]] = {
        "a result without auth": lambda at: at.body(content=answer),
        "a result under its old name": lambda at: at.body(content={**answer, "type": "toolresult"}),
        "a wake without auth": lambda at: at.body(content={"type": "wake"}),
        "a result with a forged auth": lambda at: at.body(content=answer, auth=forged),
        "a result with auth that is no code": lambda at: at.body(content=answer, auth="let me in"),
        "an undelivered without auth": lambda at: at.body(content=answer, synthetic=undelivered),
        "an event without auth": lambda at: at.body(
            content=answer, synthetic={"type": "subscription_event", "tool_call_id": "call_1"}
        ),
        "a report without auth": lambda at: at.body(
            content=answer, synthetic={"type": "thread_report", "tool_call_id": "call_1", "child_thread_id": "c"}
        ),
        "a sign-in without auth": lambda at: at.body(
            content={"type": "oauth_required", "id": "call_1", "auth_url": "https://example.com"}
        ),
        "a wake with the auth of an unknown key": lambda at: at.signed({**at.ours(), "auth": None}, "k99"),
        "a wake with a code made for callbacks": callback_code,
        "a wake of ours with another attempt": lambda at: json.dumps(
            {**at.ours(), "content": {"type": "wake", "attempt": 7}}
        ),
        "a wake of another thread, its group changed": lambda at: json.dumps(
            {**at.ours(wake(at.beside_id)), "group_id": at.thread_id}
        ),
        "a result of another thread, its group changed": lambda at: json.dumps(
            {**at.ours(result(at.beside_id, "call_1", "Done.")), "group_id": at.thread_id}
        ),
    }
    return [
        *(Case(name, write, Parked(NEEDS_AUTH)) for name, write in refused.items()),
        Case("auth that is a number", lambda at: at.text(auth=7), Parked("auth is not a string")),
        Case(
            "a wake of another thread as it is",
            lambda at: json.dumps(at.ours(wake(at.beside_id))),
            Parked("group_id is not the message group the record came in"),
        ),
        Case(
            "a text that claims to be synthetic",
            lambda at: at.text(synthetic=undelivered),
            Parked("synthetic is not for text"),
        ),
        Case("a text that claims an origin", lambda at: at.text(origin=origin), Parked("origin is not for text")),
        Case("a text with display_as", lambda at: at.text(display_as="x"), Parked("display_as is not for text")),
        Case("a text that subscribes", lambda at: at.text(subscription=True), Parked("subscription is not for text")),
        Case(
            "a text that claims to be synthetic, with a forged auth",
            lambda at: at.text(synthetic=undelivered, auth=forged),
            Parked("synthetic is not for text"),
        ),
        Case("a text with a forged auth", lambda at: at.text(auth=forged), Heard()),
        Case(
            "a wake of ours in a thread that is none yet", lambda at: json.dumps(at.ours()), Dropped("unknown_thread")
        ),
        Case(
            "a result of ours in a thread that is none yet",
            lambda at: json.dumps(at.ours(result(at.thread_id, "call_1", "Done."))),
            Dropped("unknown_thread"),
        ),
    ]


def _accepted() -> list[Case]:
    return [
        Case("NUL and lone surrogates", lambda at: at.text("a\x00b\ud800c\udfffd"), Heard("a\ufffdb\ufffdc\ufffdd")),
        Case("characters beyond the first plane", lambda at: at.text("\U0001f600\ufffe"), Heard("\U0001f600\ufffe")),
        Case("an empty text", lambda at: at.text(""), Heard(phrases.EMPTY_MESSAGE)),
        Case("a text of blanks", lambda at: at.text(" \n\t\u2003"), Heard(phrases.EMPTY_MESSAGE)),
        Case("a mebibyte of text", lambda at: filled(at.text), Heard("x", is_cut=True)),
        Case("a message_id of 201 bytes", lambda at: at.text(message_id="m" * 201), Heard()),
        Case("a message_id of 100,000 umlauts", lambda at: at.text(message_id="ü" * 100_000), Heard()),
        Case("a message_id with a NUL", lambda at: at.text(message_id="m\x00\ud800"), Heard()),
        Case("the message_id of a message of ours", lambda at: at.text(message_id="wake:t:1"), Heard()),
        Case("as much metadata as may be", lambda at: at.text(metadata={"x": "y" * 32_760}), Heard()),
        Case("metadata with a NUL in a name", lambda at: at.text(metadata={"a\x00": "\ud800"}), Heard()),
        Case("metadata with a number of 4,000 digits", lambda at: in_metadata(at, "1" * 4_000), Heard()),
        Case("97 levels of lists", lambda at: in_metadata(at, nested(97)), Heard()),
        Case("fields nobody knows", lambda at: at.text(tool_result=1, content_type="?"), Heard()),
        Case("fields of ours that say nothing", lambda at: at.text(synthetic=None, subscription=False), Heard()),
        Case("a thread id of 128 odd characters", lambda at: at.text(), Heard(), thread_id_end=ODD_CHARACTERS),
    ]


CASES = [*_unreadable(), *_wrong_fields(), *_claims(), *_accepted()]
