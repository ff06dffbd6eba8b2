"""What each message does to history. Pure: a draft in, a draft out; messages are taken in the order of delivery."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from runtime import phrases
from runtime.draft import Draft
from runtime.items import shown_bytes, shown_items, shown_text
from runtime.model.calls import Call, CallState
from runtime.model.entries import CancelledCall, Event, TextItem, ToolResult, UserText
from runtime.model.messages import Message, ResultContent, TextContent, UndeliveredContent, WakeContent
from runtime.model.threads import Person, Thread


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of one message enters history: characters of each of its items, bytes of all of them together."""

    item_chars: int
    message_bytes: int


def prepare(thread: Thread, messages: Sequence[Message], now_ms: int, limits: Limits) -> Draft:
    """Return the draft in which these messages have been consumed. Nothing is reordered."""
    draft = Draft.of(thread)
    for message in messages:
        draft = _consume(replace(draft, consumed=(*draft.consumed, message)), message, now_ms, limits)
    return draft


def _consume(draft: Draft, message: Message, now_ms: int, limits: Limits) -> Draft:
    content = message.content
    if draft.tail is None and not isinstance(content, TextContent):
        return draft.drop("unknown_thread")  # only somebody who speaks can begin a conversation
    match content:
        case TextContent():
            return _text(draft, message, replace(content, text=_shown(content.text, limits)), now_ms)
        case ResultContent():
            shown = replace(content, items=shown_items(content.items, limits.item_chars, limits.message_bytes))
            return _result(draft, message, shown, now_ms)
        case UndeliveredContent():
            return _undelivered(draft, message, content, now_ms)
        case WakeContent():
            return draft
        case _:
            assert_never(content)


def _shown(text: str, limits: Limits) -> str:
    if not text.strip():
        return phrases.EMPTY_MESSAGE
    shown = shown_text(text, limits.item_chars)
    fitting = shown_bytes(shown, limits.message_bytes)
    return shown if fitting == shown else f"{fitting}{phrases.cut_note(len(fitting), len(text))}"


def _text(draft: Draft, message: Message, content: TextContent, now_ms: int) -> Draft:
    spoken = detach(draft, now_ms).append(UserText(content.text, message.key.message_id), now_ms)
    return replace(spoken, person=_newest_asker(draft.person, content, message.sent_ms))


def _newest_asker(person: Person, content: TextContent, sent_ms: int) -> Person:
    """Metadata is replaced whole, and only by a message sent after the one that set it: redeliveries come late."""
    if content.metadata is None or sent_ms < person.metadata_sent_ms:
        return person
    user_id = content.metadata.get("user_id")
    return Person(
        user_id=user_id if isinstance(user_id, str) else person.user_id,
        metadata=content.metadata,
        metadata_sent_ms=sent_ms,
    )


def _result(draft: Draft, message: Message, content: ResultContent, now_ms: int) -> Draft:
    call = draft.call(content.call_id)
    if call is None:
        return draft.drop("result_of_unknown_call")
    state_after: CallState = "subscribed" if content.subscription else "answered"
    if call.state == "pending":
        result = ToolResult(
            call.call_id,
            content.items,
            cause=message.key.message_id,
            origin=content.origin,
            display_as=content.display_as,
        )
        return draft.append(result, now_ms).with_call(call, state_after)
    if call.state in ("detached", "failed"):
        event = Event(
            call.call_id,
            call.name,
            call.arguments,
            content.items,
            cause=message.key.message_id,
            source="late_result",
            origin=content.origin,
            display_as=content.display_as,
        )
        # Another call may be pending by now: an event must never land behind an unanswered call.
        return detach(draft, now_ms).append(event, now_ms).with_call(call, state_after)
    return draft.drop(f"result_of_{call.state}_call")


def _undelivered(draft: Draft, message: Message, content: UndeliveredContent, now_ms: int) -> Draft:
    call = draft.call(content.call_id)
    reason = (TextItem(content.reason),)
    if call is not None and call.state == "pending":
        result = ToolResult(call.call_id, reason, status="error", cause=message.key.message_id)
        return draft.append(result, now_ms).with_call(call, "failed")
    if call is not None and call.state == "detached":
        event = Event(
            call.call_id,
            call.name,
            call.arguments,
            reason,
            cause=message.key.message_id,
            source="undelivered",
            status="error",
        )
        return detach(draft, now_ms).append(event, now_ms).with_call(call, "failed")
    return draft.drop("undelivered_of_call_not_running")


def detach(draft: Draft, now_ms: int) -> Draft:
    """Give the pending call, if there is one, a result that lets the conversation go on while the tool works.

    The tool is not cancelled, unless it asked for that; its real result arrives later, as an event.
    """
    call = draft.pending_call
    if call is None:
        return draft
    return draft.append(_placeholder(call, now_ms), now_ms).with_call(call, _STATE_AFTER[call.target.on_interrupt])


_STATE_AFTER: dict[str, CallState] = {"continue": "detached", "cancel": "cancelled", "end": "answered"}


def _placeholder(call: Call, now_ms: int) -> ToolResult:
    match call.target.on_interrupt:
        case "continue":
            return ToolResult(call.call_id, (TextItem(phrases.STILL_RUNNING),))
        case "cancel":
            cancelled = CancelledCall(call.call_id, call.target.toolset or "")
            return ToolResult(call.call_id, (TextItem(phrases.CANCELLED_BY_INTERRUPTION),), cancelled=cancelled)
        case "end":
            waited_s = max(0, now_ms - call.committed_ms) // 1000
            return ToolResult(call.call_id, (TextItem(phrases.woken_after(waited_s)),))
        case _:
            assert_never(call.target.on_interrupt)
