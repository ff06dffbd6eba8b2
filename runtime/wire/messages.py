"""The body of a message on the input queue: read whoever wrote it, written when it is ours.

Anybody who may send to the queue may send `text`. Everything else, and every field that claims a provenance, needs
`auth`: a code over the canonical JSON of the whole message without `auth`, under a key only the runtime has.
"""

from typing import Any, Literal, NamedTuple, TypeVar, assert_never

from pydantic import Field, ValidationError

from runtime.errors import InvalidMessage
from runtime.identity import client_message_id, deduplication_id, digest
from runtime.mac import authentication_code, is_authentic
from runtime.model.entries import JsonObject, Origin, TextItem
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
from runtime.ports import Key, Keyring, RawRecord
from runtime.wire.faults import Wire, field_fault
from runtime.wire.items import WireItems, WireText, read_items, write_items
from runtime.wire.text import UnreadableJson, canonical_json, read_json

MAX_METADATA_BYTES = 32 * 1024  # metadata is copied into every output, each of which must fit a queue message
UNKNOWN_REASON = "the tool could not be reached"

# SQS MessageGroupId: ASCII letters, digits and punctuation, at most 128.
GROUP_ID_PATTERN = r"^[!-~]{1,128}$"
# Only the runtime may say where something came from or what it stands for.
_OURS_ALONE = ("synthetic", "origin", "display_as", "subscription")

Shape = TypeVar("Shape", bound=Wire)


class _Text(Wire):
    text: str


class _Payload(Wire):
    key: str
    size_bytes: int


class _ToolResult(Wire):
    id: str = Field(min_length=1)
    content: WireItems = []  # noqa: RUF012 - pydantic copies defaults
    payload: _Payload | None = None


class _Wake(Wire):
    attempt: int = Field(0, ge=0)


class _Synthetic(Wire):
    type: Literal["undelivered"]
    tool_call_id: str


class _Origin(Wire):
    toolset: str
    call_id: str
    received_at: int


class _Envelope(Wire):
    group_id: str = Field(pattern=GROUP_ID_PATTERN)
    content: dict[str, Any]
    message_id: str | None = Field(None, min_length=1)
    metadata: dict[str, Any] | None = None
    synthetic: _Synthetic | None = None
    origin: _Origin | None = None
    display_as: str | None = None
    subscription: bool | None = None


class _Arrived(NamedTuple):
    """A body that is JSON: its fields as they came, the envelope read from them, and whether it is one of ours."""

    fields: dict[str, Any]
    envelope: _Envelope
    is_ours: bool


def parse_message(record: RawRecord, keyring: Keyring) -> Message:
    """Return what the record says, if its sender may say it.

    A client's message gets the identity `user:<its id>`, without one the record's own id; so no client can
    suppress a message of ours, which carries its identity itself.

    Raises:
        InvalidMessage: it can never be handled; the reason names the field, never the value.
        RetryableError: the key that would tell is not to be had now.
    """
    fields = _read_object(record.body)
    envelope = _read(_Envelope, fields, "")
    if envelope.group_id != record.group_id:
        raise InvalidMessage("group_id is not the message group the record came in")
    arrived = _Arrived(fields, envelope, _is_ours(fields, keyring))
    content = _content(arrived)
    return Message(
        thread_id=record.group_id,
        key=MessageKey(message_type(content), _message_id(arrived, record)),
        content=content,
        body_hash=body_hash(content),
        sent_ms=record.sent_ms,
    )


def message_body(message: Message, key: Key) -> str:
    """Return the body of a message of ours: canonical ASCII JSON, authenticated as `<key id>.<code>`."""
    fields: dict[str, Any] = {
        "group_id": message.thread_id,
        "message_id": message.key.message_id,
        **_content_fields(message.content),
    }
    code = authentication_code(key.secret, "message", canonical_json(fields).encode())
    return canonical_json({**fields, "auth": f"{key.key_id}.{code}"})


def message_deduplication_id(message: Message) -> str:
    """Return the SQS deduplication id. A result names its body too, so that a second, different one is seen."""
    is_result = isinstance(message.content, ResultContent)
    return deduplication_id(
        message.thread_id, message.key.type, message.key.message_id, message.body_hash if is_result else None
    )


def message_type(content: Content) -> str:
    """Return the type that is part of a message's identity."""
    match content:
        case TextContent():
            return "text"
        case ResultContent():
            return "tool_result"
        case UndeliveredContent():
            return "undelivered"
        case WakeContent():
            return "wake"
        case _:
            assert_never(content)


def body_hash(content: Content) -> str:
    """Return what tells a repeat from another body. When and through which server it came is no part of it."""
    fields = _content_fields(content)
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


def _read(shape: type[Shape], fields: dict[str, Any], within: str) -> Shape:
    try:
        return shape.model_validate(fields)
    except ValidationError as error:
        raise InvalidMessage(field_fault(error, within)) from error


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


def _message_id(arrived: _Arrived, record: RawRecord) -> str:
    given = arrived.envelope.message_id
    if not arrived.is_ours:
        return client_message_id(given or record.record_id)
    if given is None:
        raise InvalidMessage("message_id is missing")
    return given


def _content(arrived: _Arrived) -> Content:
    fields, is_ours = arrived.envelope.content, arrived.is_ours
    match fields.get("type"):
        case "text":
            return _text(arrived)
        case "tool_result" | "toolresult" if is_ours:
            return _result(arrived.envelope)
        case "wake" if is_ours:
            _refuse_fields_of_results(arrived, "a wake")
            return WakeContent(_read(_Wake, fields, "content").attempt)
        case "tool_result" | "toolresult" | "wake":
            raise InvalidMessage("auth is missing or not valid, and only text may come without")
        case None:
            raise InvalidMessage("content.type is missing")
        case _:
            raise InvalidMessage("content.type is unknown")


def _text(arrived: _Arrived) -> TextContent:
    _refuse_fields_of_results(arrived, "text")
    metadata = arrived.envelope.metadata
    if metadata is not None:
        _check_metadata(metadata)
    return TextContent(_read(_Text, arrived.envelope.content, "content").text, metadata)


def _refuse_fields_of_results(arrived: _Arrived, content_name: str) -> None:
    for name in _OURS_ALONE:
        if getattr(arrived.envelope, name) not in (None, False):
            raise InvalidMessage(f"{name} is not for {content_name}")


def _check_metadata(metadata: JsonObject) -> None:
    if len(canonical_json(metadata)) > MAX_METADATA_BYTES:
        raise InvalidMessage(f"metadata is larger than {MAX_METADATA_BYTES} bytes")
    if not isinstance(metadata.get("user_id"), str | None):
        raise InvalidMessage("metadata.user_id is not a string")


def _result(envelope: _Envelope) -> ResultContent | UndeliveredContent:
    result = _read(_ToolResult, envelope.content, "content")
    if envelope.synthetic is not None:
        reason = " ".join(item.text for item in result.content if isinstance(item, WireText)).strip()
        return UndeliveredContent(envelope.synthetic.tool_call_id, reason or UNKNOWN_REASON)
    payload = result.payload
    return ResultContent(
        call_id=result.id,
        items=() if payload else read_items(result.content),
        subscription=bool(envelope.subscription),
        payload=PayloadRef(payload.key, payload.size_bytes) if payload else None,
        origin=_origin(envelope.origin),
        display_as=envelope.display_as,
    )


def _origin(given: _Origin | None) -> Origin | None:
    return Origin(given.toolset, given.call_id, given.received_at) if given else None


def _content_fields(content: Content) -> dict[str, Any]:
    """Return the message's fields that say what it means. Defaults are left out."""
    match content:
        case TextContent(text, metadata):
            fields: dict[str, Any] = {"content": {"type": "text", "text": text}}
            return fields if metadata is None else {**fields, "metadata": metadata}
        case ResultContent():
            return _result_fields(content)
        case UndeliveredContent(call_id, reason):
            return {
                "content": {"type": "tool_result", "id": call_id, "content": write_items([TextItem(reason)])},
                "synthetic": {"type": "undelivered", "tool_call_id": call_id},
            }
        case WakeContent(attempt):
            return {"content": {"type": "wake", "attempt": attempt}}
        case _:
            assert_never(content)


def _result_fields(content: ResultContent) -> dict[str, Any]:
    body: dict[str, Any] = {"type": "tool_result", "id": content.call_id}
    if content.payload is None:
        body["content"] = write_items(content.items)
    else:
        body["payload"] = {"key": content.payload.key, "size_bytes": content.payload.size_bytes}
    fields: dict[str, Any] = {"content": body}
    if content.subscription:
        fields["subscription"] = True
    if content.display_as is not None:
        fields["display_as"] = content.display_as
    if content.origin is not None:
        origin = content.origin
        fields["origin"] = {
            "toolset": origin.toolset,
            "call_id": origin.call_id,
            "received_at": origin.received_at_ms,
        }
    return fields
