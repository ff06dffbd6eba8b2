"""What arrives by itself about an earlier call: events of subscriptions, and words from a thread's own family. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from runtime import births, phrases
from runtime.detaching import detach, timer_stopped
from runtime.draft import Draft
from runtime.items import shown
from runtime.limits import Limits
from runtime.model.calls import UNANSWERED_STATES, Call
from runtime.model.entries import CancelledCall, Event, EventSource, Item, TextItem, ToolResult
from runtime.model.messages import BounceContent, EventContent, Message, ParentContent, ReportContent


def about(call: Call, message: Message, source: EventSource, items: tuple[Item, ...]) -> Event:
    """Return what this message tells about the call, as an entry behind whatever came after the call."""
    return Event(call.call_id, call.name, call.arguments, items, message.key.message_id, source)


def fired(draft: Draft, message: Message, content: EventContent, now_ms: int, limits: Limits) -> Draft:
    """Take an event of a subscription: into this history, or into a thread of its own.

    It may overtake the confirmation of its subscription, and then confirms it.
    """
    draft = _confirmed(draft, content.call_id, now_ms, limits)
    call = draft.call(content.call_id)
    if call is None or call.state != "subscribed":
        return draft.drop("event_of_call_not_live")
    event = about(call, message, "subscription", content.items)
    event = replace(event, origin=content.origin, whole=content.payload)
    if content.final:
        draft = draft.with_call(call, "ended")
    # One that has no thread of its own left to go to is told here: it is never dropped.
    if content.associative or births.takes_events_itself(draft, limits):
        return detach(draft, now_ms).append(event, now_ms)
    return draft.with_thread(births.event_child(draft, call, event, now_ms))


def _confirmed(draft: Draft, call_id: str, now_ms: int, limits: Limits) -> Draft:
    """Return the draft in which this call is a subscription, if an event can make it one.

    A pending one is answered first. Otherwise the tail would be a call that nobody answers.
    """
    call = draft.call(call_id)
    if call is None or call.state not in UNANSWERED_STATES:
        return draft
    if has_too_many_subscriptions(draft, limits):
        return draft
    if call.state == "pending":
        placeholder = ToolResult(call_id, (TextItem(phrases.SUBSCRIBED),), deed=timer_stopped(call))
        draft = draft.append(placeholder, now_ms)
    return draft.with_call(call, "subscribed")


def has_too_many_subscriptions(draft: Draft, limits: Limits) -> bool:
    live = sum(call.state == "subscribed" for call in draft.all_calls().values())
    return live >= limits.live_subscriptions


def refuse_subscription(draft: Draft, message: Message, call: Call, now_ms: int) -> Draft:
    """Answer a subscription that is one too many, and have its server told that nobody listens."""
    cancelled = CancelledCall(call.call_id, call.target.toolset or "")
    items = (TextItem(phrases.TOO_MANY_SUBSCRIPTIONS),)
    if call.state == "pending":
        stopped = timer_stopped(call)
        result = ToolResult(call.call_id, items, "error", message.key.message_id, cancelled=cancelled, deed=stopped)
        return draft.append(result, now_ms).with_call(call, "cancelled")
    event = replace(about(call, message, "late_result", items), status="error", cancelled=cancelled)
    return detach(draft, now_ms).append(event, now_ms).with_call(call, "cancelled")


def told(
    draft: Draft,
    message: Message,
    content: ReportContent | ParentContent | BounceContent,
    now_ms: int,
    limits: Limits,
) -> Draft:
    """Append what a child or a parent said, as an event of the call it is about."""
    call = draft.call(content.call_id)
    if call is None:
        return draft.drop("word_about_unknown_call")
    source, text = _said(content)
    event = about(call, message, source, (TextItem(shown(text, limits)),))
    return detach(draft, now_ms).append(event, now_ms)


def _said(content: ReportContent | ParentContent | BounceContent) -> tuple[EventSource, str]:
    match content:
        case ReportContent(child_id=child_id, text=text, closed=closed):
            return "report", phrases.report_of(child_id, text, closed=closed)
        case ParentContent(text=text):
            return "parent_message", phrases.message_of_parent(text)
        case BounceContent():
            return "bounce", phrases.BOUNCED


def find_their_own_threads(messages: Sequence[Message]) -> bool:
    """Whether all of these are events that may go to threads of their own."""
    return all(isinstance(message.content, EventContent) and not message.content.associative for message in messages)


def go_to_their_own_threads(draft: Draft, messages: Sequence[Message], limits: Limits) -> bool:
    """Whether all of these events do so, and nothing is owed: then the history need not be read."""
    if draft.thread.entries or draft.thread.inbox or draft.row.version == 0:
        return False
    calls = [draft.call(message.content.call_id) for message in messages if isinstance(message.content, EventContent)]
    further = len(messages) - 1
    within = replace(limits, live_children=limits.live_children - further, open_threads=limits.open_threads - further)
    return not births.takes_events_itself(draft, within) and all(
        call is not None and call.state == "subscribed" for call in calls
    )
