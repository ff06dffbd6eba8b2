"""What each message does to history. Pure: a draft in, a draft out; messages are taken in the order of delivery."""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from runtime import compaction, events, phrases
from runtime.detaching import detach, timer_stopped
from runtime.draft import Draft
from runtime.items import shown, shown_items
from runtime.limits import Limits
from runtime.model.calls import UNANSWERED_STATES, CallState, may_ask
from runtime.model.entries import TextItem, ToolResult, UserText
from runtime.model.messages import (
    BounceContent,
    ChoiceAnswerContent,
    ChoiceContent,
    CompactionContent,
    EventContent,
    Message,
    OauthContent,
    ParentContent,
    ReportContent,
    ResultContent,
    TextContent,
    TimerContent,
    UndeliveredContent,
    WakeContent,
)
from runtime.model.threads import Person, Thread


def prepare(thread: Thread, messages: Sequence[Message], now_ms: int, limits: Limits) -> Draft:
    """Return the draft in which these messages have been consumed. Nothing is reordered."""
    draft = Draft.of(thread)
    for message in messages:
        draft = _consume(replace(draft, consumed=(*draft.consumed, message)), message, now_ms, limits)
    return draft


def _consume(draft: Draft, message: Message, now_ms: int, limits: Limits) -> Draft:  # noqa: C901 - one line a type
    content = message.content
    if draft.row.version == 0 and draft.tail is None and not isinstance(content, TextContent):
        return draft.drop("unknown_thread")  # only somebody who speaks can begin a conversation
    match content:
        case TextContent():
            return _text(draft, message, replace(content, text=_said(content.text, limits)), now_ms)
        case ResultContent():
            kept = replace(content, items=shown_items(content.items, limits))
            return _result(draft, message, kept, now_ms, limits)
        case UndeliveredContent():
            return _undelivered(draft, message, content, now_ms)
        case TimerContent():
            return _time_is_over(draft, message, content, now_ms)
        case EventContent():
            kept_event = replace(content, items=shown_items(content.items, limits))
            return events.fired(draft, message, kept_event, now_ms, limits)
        case ReportContent() | ParentContent() | BounceContent():
            return events.told(draft, message, content, now_ms, limits)
        case CompactionContent():
            return compaction.ended(draft, content)
        case OauthContent() | ChoiceContent():
            return draft if may_ask(draft.call(content.call_id)) else draft.drop("asked_for_no_running_call")
        case ChoiceAnswerContent() | WakeContent():
            return draft
        case _:
            assert_never(content)


def _said(text: str, limits: Limits) -> str:
    return shown(text, limits) if text.strip() else phrases.EMPTY_MESSAGE


def _text(draft: Draft, message: Message, content: TextContent, now_ms: int) -> Draft:
    spoken = detach(draft, now_ms).append(UserText(content.text, message.key.message_id, content.payload), now_ms)
    person = _newest_asker(draft.row.person, content, message.sent_ms)
    return replace(spoken, row=replace(spoken.row, person=person))


def _newest_asker(person: Person, content: TextContent, sent_ms: int) -> Person:
    """Metadata is replaced whole, and only by a message sent after the one that set it: redeliveries come late."""
    is_older = person.metadata is not None and sent_ms <= person.metadata_sent_ms  # as the stores judge it
    if content.metadata is None or is_older:
        return person
    user_id = content.metadata.get("user_id")
    return Person(
        user_id=user_id if isinstance(user_id, str) else person.user_id,
        metadata=content.metadata,
        metadata_sent_ms=sent_ms,
    )


def _result(draft: Draft, message: Message, content: ResultContent, now_ms: int, limits: Limits) -> Draft:
    call = draft.call(content.call_id)
    if call is None:
        return draft.drop("result_of_unknown_call")
    if content.subscription and call.state in UNANSWERED_STATES and events.has_too_many_subscriptions(draft, limits):
        return events.refuse_subscription(draft, message, call, now_ms)
    state_after: CallState = "subscribed" if content.subscription else "answered"
    if call.state == "pending":
        result = ToolResult(
            call.call_id,
            content.items,
            cause=message.key.message_id,
            origin=content.origin,
            display_as=content.display_as,
            deed=timer_stopped(call),
            whole=content.payload,
        )
        return draft.append(result, now_ms).with_call(call, state_after)
    if call.state in ("detached", "failed"):
        event = events.about(call, message, "late_result", content.items)
        event = replace(event, origin=content.origin, display_as=content.display_as, whole=content.payload)
        # Another call may be pending by now: an event must never land behind an unanswered call.
        return detach(draft, now_ms).append(event, now_ms).with_call(call, state_after)
    return draft.drop(f"result_of_{call.state}_call")


def _undelivered(draft: Draft, message: Message, content: UndeliveredContent, now_ms: int) -> Draft:
    call = draft.call(content.call_id)
    reason = (TextItem(content.reason),)
    if call is not None and call.state == "pending":
        stopped = timer_stopped(call)
        result = ToolResult(call.call_id, reason, status="error", cause=message.key.message_id, deed=stopped)
        return draft.append(result, now_ms).with_call(call, "failed")
    if call is not None and call.state == "detached":
        event = replace(events.about(call, message, "undelivered", reason), status="error")
        return detach(draft, now_ms).append(event, now_ms).with_call(call, "failed")
    return draft.drop("undelivered_of_call_not_running")


def _time_is_over(draft: Draft, message: Message, content: TimerContent, now_ms: int) -> Draft:
    """A sleep has lasted long enough, or a result has been waited for long enough: then it is waited for no longer."""
    call = draft.call(content.call_id)
    if call is None or call.state != "pending" or call != draft.pending_call:
        return draft.drop("timer_of_call_not_pending")
    slept = call.target.toolset is None
    text = phrases.slept(max(0, now_ms - call.committed_ms) // 1000) if slept else phrases.NO_RESULT_YET
    result = ToolResult(call.call_id, (TextItem(text),), cause=message.key.message_id)
    return draft.append(result, now_ms).with_call(call, "answered" if slept else "detached")
