"""The body of a message on the input queue: read whoever wrote it, written when it is ours.

What is ours carries `auth`: a code over the canonical JSON of the whole message without `auth`, under a key only the
runtime has. Who may say what stands in `runtime.wire.contents`.
"""

from typing import Any

from runtime.errors import InvalidMessage
from runtime.identity import answer_message_id, client_message_id, deduplication_id, digest
from runtime.mac import authentication_code, is_authentic
from runtime.model.messages import ChoiceAnswerContent, Content, Message, MessageKey, ResultContent
from runtime.ports import Key, Keyring, RawRecord
from runtime.wire.contents import content_fields, message_type, read_content
from runtime.wire.faults import read_shape
from runtime.wire.shapes import Envelope
from runtime.wire.text import UnreadableJson, canonical_json, read_json


def parse_message(record: RawRecord, keyring: Keyring) -> Message:
    """Return what the record says, if its sender may say it.

    A client's message gets the identity `user:<its id>`, without one the record's own id; so no client can
    suppress a message of ours, which carries its identity itself. The answer to a choice is named after the choice,
    whoever sends it: a second one is a repeat.

    Raises:
        InvalidMessage: it can never be handled; the reason names the field, never the value.
        RetryableError: the key that would tell is not to be had now.
    """
    fields = _read_object(record.body)
    envelope = read_shape(Envelope, fields)
    if envelope.group_id != record.group_id:
        raise InvalidMessage("group_id is not the message group the record came in")
    is_ours = _is_ours(fields, keyring)
    content = read_content(envelope, is_ours=is_ours)
    return Message(
        thread_id=record.group_id,
        key=MessageKey(message_type(content), _message_id(content, envelope.message_id, record, is_ours=is_ours)),
        content=content,
        body_hash=body_hash(content),
        sent_ms=record.sent_ms,
    )


def message_body(message: Message, key: Key) -> str:
    """Return the body of a message of ours: canonical ASCII JSON, authenticated as `<key id>.<code>`."""
    fields: dict[str, Any] = {
        "group_id": message.thread_id,
        "message_id": message.key.message_id,
        **content_fields(message.content),
    }
    code = authentication_code(key.secret, "message", canonical_json(fields).encode())
    return canonical_json({**fields, "auth": f"{key.key_id}.{code}"})


def message_deduplication_id(message: Message) -> str:
    """Return the SQS deduplication id. A result names its body too, so that a second, different one is seen."""
    is_result = isinstance(message.content, ResultContent)
    return deduplication_id(
        message.thread_id, message.key.type, message.key.message_id, message.body_hash if is_result else None
    )


def body_hash(content: Content) -> str:
    """Return what tells a repeat from another body. When and through which server it came is no part of it."""
    fields = content_fields(content)
    fields.pop("origin", None)
    return digest(canonical_json(fields))


def _read_object(body: str) -> dict[str, Any]:
    try:
        fields = read_json(body)
    except UnreadableJson as error:
        raise InvalidMessage(f"body is {error}") from error
    if not isinstance(fields, dict):
        raise InvalidMessage("body is not a JSON object")
    return fields


def _is_ours(fields: dict[str, Any], keyring: Keyring) -> bool:
    """Return whether `auth` was made with a key of ours over exactly these fields."""
    auth = fields.get("auth")
    if auth is None:
        return False
    if not isinstance(auth, str):
        raise InvalidMessage("auth is not a string")
    key_id, _, code = auth.rpartition(".")
    key = keyring.find(key_id) if key_id else None
    if key is None:
        return False
    signed = canonical_json({name: value for name, value in fields.items() if name != "auth"})
    return is_authentic(key.secret, "message", signed.encode(), code)


def _message_id(content: Content, given: str | None, record: RawRecord, *, is_ours: bool) -> str:
    if isinstance(content, ChoiceAnswerContent):
        return answer_message_id(content.choice_id)
    if not is_ours:
        return client_message_id(given or record.record_id)
    if given is None:
        raise InvalidMessage("message_id is missing")
    return given
