"""What a message on the input queue says: its fields, and our types.

Anybody who may send to the queue may send `text` and `user_choice_answer`. Everything else, and every field that claims
a provenance, is the runtime's own. What tools, children and clocks say about a call travels as a `tool_result` of that
call, and its `synthetic` field tells which of them it is.
"""

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from runtime.errors import InvalidMessage
from runtime.model.entries import Item, JsonObject, Origin, PayloadRef, TextItem
from runtime.model.messages import (
    BounceContent,
    ChoiceAnswerContent,
    ChoiceContent,
    CompactionContent,
    Content,
    EventContent,
    OauthContent,
    ParentContent,
    ReportContent,
    ResultContent,
    TextContent,
    TimerContent,
    UndeliveredContent,
    WakeContent,
)
from runtime.wire import shapes
from runtime.wire.faults import read_shape
from runtime.wire.items import WireText, read_items, write_items
from runtime.wire.shapes import Envelope
from runtime.wire.text import canonical_json

MAX_METADATA_BYTES = 32 * 1024  # metadata is copied into every output, each of which must fit a queue message
UNKNOWN_REASON = "the tool could not be reached"

# Only the runtime may say where something came from or what it stands for.
_OURS_ALONE = ("synthetic", "origin", "display_as", "subscription")

ContentOfResult = (
    ResultContent | UndeliveredContent | EventContent | ReportContent | ParentContent | BounceContent | TimerContent
)
_TYPES: Mapping[type[Content], str] = {
    TextContent: "text",
    ResultContent: "tool_result",
    UndeliveredContent: "undelivered",
    WakeContent: "wake",
    EventContent: "subscription_event",
    ReportContent: "thread_report",
    ParentContent: "parent_message",
    BounceContent: "bounce",
    TimerContent: "timer",
    CompactionContent: "compaction_complete",
    OauthContent: "oauth_required",
    ChoiceContent: "user_choice_required",
    ChoiceAnswerContent: "user_choice_answer",
}


def message_type(content: Content) -> str:
    """Return the type that is part of a message's identity: the synthetic one where there is one."""
    return _TYPES[type(content)]


def read_content(envelope: Envelope, *, is_ours: bool) -> Content:
    """Return what the message says, if its sender may say it.

    Raises:
        InvalidMessage: it can never be handled; the reason names the field, never the value.
    """
    match envelope.content.get("type"):
        case "text":
            return _text(envelope)
        case "user_choice_answer":
            return _choice_answer(envelope)
        case "tool_result" | "toolresult" | "wake" | "oauth_required" | "user_choice_required" as kind:
            if not is_ours:
                raise InvalidMessage("auth is missing or not valid, and only text and answers may come without")
            return _content_of_ours(kind, envelope)
        case None:
            raise InvalidMessage("content.type is missing")
        case _:
            raise InvalidMessage("content.type is unknown")


def _content_of_ours(kind: str, envelope: Envelope) -> Content:
    match kind:
        case "wake":
            return _wake(envelope)
        case "oauth_required":
            _refuse(_OURS_ALONE, envelope, kind)
            required = read_shape(shapes.OauthRequired, envelope.content, "content")
            return OauthContent(required.id, required.auth_url)
        case "user_choice_required":
            return _choice(envelope)
        case _:
            return _result(envelope)


def _text(envelope: Envelope) -> TextContent:
    _refuse(_OURS_ALONE, envelope, "text")
    metadata = envelope.metadata
    if metadata is not None:
        _check_metadata(metadata)
    return TextContent(read_shape(shapes.Text, envelope.content, "content").text, metadata)


def _check_metadata(metadata: JsonObject) -> None:
    if len(canonical_json(metadata)) > MAX_METADATA_BYTES:
        raise InvalidMessage(f"metadata is larger than {MAX_METADATA_BYTES} bytes")
    if not isinstance(metadata.get("user_id"), str | None):
        raise InvalidMessage("metadata.user_id is not a string")


def _choice_answer(envelope: Envelope) -> ChoiceAnswerContent:
    _refuse(_OURS_ALONE, envelope, "user_choice_answer")
    answer = read_shape(shapes.ChoiceAnswer, envelope.content, "content")
    return ChoiceAnswerContent(answer.id, answer.selected)


def _wake(envelope: Envelope) -> WakeContent | CompactionContent:
    synthetic = envelope.synthetic
    if isinstance(synthetic, shapes.CompactionComplete):
        _refuse(("origin", "display_as", "subscription"), envelope, "compaction_complete")
        return CompactionContent(synthetic.compaction_id, synthetic.up_to)
    _refuse(_OURS_ALONE, envelope, "a wake")
    return WakeContent(read_shape(shapes.Wake, envelope.content, "content").attempt)


def _choice(envelope: Envelope) -> ChoiceContent:
    _refuse(("synthetic", "display_as", "subscription"), envelope, "user_choice_required")
    required = read_shape(shapes.ChoiceRequired, envelope.content, "content")
    return ChoiceContent(
        call_id=required.id,
        prompt=required.prompt,
        choices=tuple(required.choices),
        default=required.default,
        response_url=required.response_url,
        origin=_origin(envelope),
    )


def _result(envelope: Envelope) -> Content:
    result = read_shape(shapes.ToolResult, envelope.content, "content")
    if envelope.synthetic is None:
        return ResultContent(
            call_id=result.id,
            items=_items(result),
            subscription=bool(envelope.subscription),
            payload=_payload(result),
            origin=_origin(envelope),
            display_as=envelope.display_as,
        )
    if isinstance(envelope.synthetic, shapes.CompactionComplete):
        raise InvalidMessage("synthetic is not for a tool_result")
    return _synthetic(envelope.synthetic, result, envelope)


def _synthetic(synthetic: shapes.SyntheticOfResult, result: shapes.ToolResult, envelope: Envelope) -> Content:
    said = "\n".join(item.text for item in result.content if isinstance(item, WireText))
    match synthetic:
        case shapes.SubscriptionEvent(tool_call_id=call_id, associative=associative, final=final):
            return EventContent(call_id, _items(result), associative, final, _payload(result), _origin(envelope))
        case shapes.ThreadReport(tool_call_id=call_id, child_thread_id=child_id, closed=closed):
            return ReportContent(call_id, child_id, said, closed)
        case shapes.ParentMessage(tool_call_id=call_id):
            return ParentContent(call_id, said)
        case shapes.Bounce(tool_call_id=call_id):
            return BounceContent(call_id)
        case shapes.TimerDue(tool_call_id=call_id, due=due_ms):
            return TimerContent(call_id, due_ms)
        case shapes.Undelivered(tool_call_id=call_id):
            return UndeliveredContent(call_id, said.strip() or UNKNOWN_REASON)
        case _:
            assert_never(synthetic)


def _refuse(names: Sequence[str], envelope: Envelope, content_name: str) -> None:
    for name in names:
        if getattr(envelope, name) not in (None, False):
            raise InvalidMessage(f"{name} is not for {content_name}")


def _items(result: shapes.ToolResult) -> tuple[Item, ...]:
    return () if result.payload else read_items(result.content)


def _payload(result: shapes.ToolResult) -> PayloadRef | None:
    return PayloadRef(result.payload.key, result.payload.size_bytes) if result.payload else None


def _origin(envelope: Envelope) -> Origin | None:
    given = envelope.origin
    return Origin(given.toolset, given.call_id, given.received_at) if given else None


def content_fields(content: Content) -> dict[str, Any]:
    """Return the message's fields that say what it means. What equals a default of the envelope is left out."""
    match content:
        case TextContent(text, metadata):
            return _with({"type": "text", "text": text}, metadata=metadata)
        case WakeContent(attempt):
            return _with({"type": "wake", "attempt": attempt})
        case CompactionContent(compaction_id, up_to):
            synthetic = {"type": "compaction_complete", "compaction_id": compaction_id, "up_to": up_to}
            return _with({"type": "wake"}, synthetic=synthetic)
        case OauthContent(call_id, auth_url):
            return _with({"type": "oauth_required", "id": call_id, "auth_url": auth_url})
        case ChoiceContent():
            return _choice_fields(content)
        case ChoiceAnswerContent(choice_id, selected):
            return _with({"type": "user_choice_answer", "id": choice_id, "selected": selected})
        case _:
            return _result_fields(content)


def _result_fields(content: ContentOfResult) -> dict[str, Any]:
    match content:
        case ResultContent(subscription=subscription, display_as=display_as, origin=origin):
            further = {"subscription": subscription or None, "display_as": display_as, "origin": _origin_fields(origin)}
            return _with(_body(content.call_id, content.items, content.payload), **further)
        case EventContent(call_id, items, associative, final, payload, origin):
            synthetic = _of_call(content, associative=associative, final=final)
            return _with(_body(call_id, items, payload), synthetic=synthetic, origin=_origin_fields(origin))
        case UndeliveredContent(call_id, text) | ParentContent(call_id, text):
            return _with(_body(call_id, _said(text)), synthetic=_of_call(content))
        case ReportContent(call_id, child_id, text, closed):
            synthetic = _of_call(content, child_thread_id=child_id, closed=closed)
            return _with(_body(call_id, _said(text)), synthetic=synthetic)
        case BounceContent(call_id):
            return _with(_body(call_id, ()), synthetic=_of_call(content))
        case TimerContent(call_id, due_ms):
            return _with(_body(call_id, ()), synthetic=_of_call(content, due=due_ms))
        case _:
            assert_never(content)


def _choice_fields(content: ChoiceContent) -> dict[str, Any]:
    body = {
        "type": "user_choice_required",
        "id": content.call_id,
        "prompt": content.prompt,
        "choices": list(content.choices),
        "default": content.default,
        "response_url": content.response_url,
    }
    return _with(body, origin=_origin_fields(content.origin))


def _with(content: JsonObject, **envelope: object) -> dict[str, Any]:
    return {"content": content, **{name: value for name, value in envelope.items() if value is not None}}


def _body(call_id: str, items: Sequence[Item], payload: PayloadRef | None = None) -> JsonObject:
    body = {"type": "tool_result", "id": call_id}
    if payload is not None:
        return {**body, "payload": {"key": payload.key, "size_bytes": payload.size_bytes}}
    return {**body, "content": write_items(items)}


def _said(text: str) -> tuple[Item, ...]:
    return (TextItem(text),) if text else ()


def _of_call(content: ContentOfResult, **fields: object) -> JsonObject:
    return {"type": message_type(content), "tool_call_id": content.call_id, **fields}


def _origin_fields(origin: Origin | None) -> JsonObject | None:
    if origin is None:
        return None
    return {"toolset": origin.toolset, "call_id": origin.call_id, "received_at": origin.received_at_ms}
