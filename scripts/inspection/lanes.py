"""What happened when, side by side: one lane for each thread, a mark for each entry, a bar for each call. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runtime.model.calls import LIVE_STATES
from scripts.inspection import words
from scripts.inspection.markup import Html, tag
from scripts.inspection.views import CallView, ThreadView

_LEGEND = {"user": "user", "agent": "agent", "calls": "tool call, and its time", "event": "event", "other": "other"}


@dataclass(frozen=True, slots=True)
class Span:
    """The time that the lanes cover."""

    began_ms: int
    ended_ms: int

    def percent(self, at_ms: int) -> float:
        """Where a moment stands, from 0 to 99: a mark at the very end must still be seen."""
        whole = max(1, self.ended_ms - self.began_ms)
        return round(min(max((at_ms - self.began_ms) / whole, 0.0), 1.0) * 99, 2)


def lanes(threads: Sequence[ThreadView], anchors: Mapping[str, str], now_ms: int) -> Html:
    """Return the lanes, from the first entry that is known to the last one, or to now while a call still runs."""
    span = span_of(threads, now_ms)
    if span is None:
        return tag("p", "Nothing has happened yet.", class_="soft")
    rows = [_lane(thread, anchors[thread.node.thread_id], span) for thread in threads]
    ends = tag(
        "div", tag("span", words.moment(span.began_ms)), tag("span", words.moment(span.ended_ms)), class_="ends soft"
    )
    names = [tag("span", tag("span", class_=f"swatch {who}"), name) for who, name in _LEGEND.items()]
    return tag("div", *rows, ends, tag("p", *names, class_="legend soft"), class_="card")


def span_of(threads: Sequence[ThreadView], now_ms: int) -> Span | None:
    """Return the time that these threads cover; None if nothing has happened."""
    times = [moment.at_ms for thread in threads for moment in thread.moments]
    if not times:
        return None
    runs = any(_runs(thread, call) for thread in threads for call in thread.calls)
    return Span(min(times), max([*times, *([now_ms] if runs else [])]))


def _runs(thread: ThreadView, call: CallView) -> bool:
    return thread.node.state.kind != "closed" and call.state in LIVE_STATES


def _lane(thread: ThreadView, anchor: str, span: Span) -> Html:
    bars = [_bar(thread, call, span) for call in thread.calls]
    marks = [
        tag(
            "b",
            class_=moment.who,
            style=f"left:{span.percent(moment.at_ms)}%",
            title=f"#{moment.position} {moment.who}",
        )
        for moment in thread.moments
    ]
    name = tag("a", thread.node.task or thread.node.thread_id, href=f"#{anchor}")
    return tag("div", name, tag("div", *bars, *marks, class_="track"), class_="lane")


def _bar(thread: ThreadView, call: CallView, span: Span) -> Html:
    """From when the call was made until its answer. What a thread took with it when it closed ended there."""
    last_ms = max((moment.at_ms for moment in thread.moments), default=call.since_ms)
    ended_ms = call.answered_ms or (span.ended_ms if _runs(thread, call) else last_ms)
    left = span.percent(call.since_ms)
    width = round(max(0.0, span.percent(ended_ms) - left), 2)
    return tag("i", style=f"left:{left}%;width:{width}%", title=f"{call.name}: {call.state}")
