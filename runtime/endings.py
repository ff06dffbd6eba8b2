"""What the end of a turn means for a thread that has a parent. Pure.

Nobody sees what a child writes, so a child that stops without a word would leave its parent waiting: it is asked once
whether to report or to close, and then its text is the report. A thread that was made for one event is over when its
turn is, unless something still runs for it. A compaction is over with its text.
"""

from collections.abc import Iterator
from dataclasses import replace

from runtime import births, compaction, phrases
from runtime.draft import Draft
from runtime.items import shown_text
from runtime.model.entries import AssistantText, Entry, Reported, ToolResult, UserText


def ended_turn(draft: Draft, now_ms: int) -> Draft:
    """Return the draft behind whose last entry, a text that ends a turn, comes what its kind of thread needs."""
    match draft.row.birth.kind:
        case "root":
            return draft
        case "compaction":
            return compaction.written(draft)
        case "event":
            return _marked(draft.close(), closes=True) if draft.nothing_runs else draft
        case "spawned":
            return _asked_or_reported(draft, now_ms)


def why_waiting_is_vain(draft: Draft) -> str | None:
    """Return why this thread may not wait for something that nobody will send, or None.

    Nothing runs for it; and one event is all there is, or its parent waits for a word of it.
    """
    if not draft.nothing_runs:
        return None
    if draft.row.birth.kind == "event":
        return phrases.NOTHING_WILL_COME
    is_silent = draft.row.birth.kind == "spawned" and not _has_reported(draft)
    return phrases.REPORT_BEFORE_WAITING if is_silent else None


def _asked_or_reported(draft: Draft, now_ms: int) -> Draft:
    if _has_reported(draft):
        return draft
    since = _since_input(draft)
    if any(isinstance(entry.body, UserText) and entry.body.cause is None for entry in since):
        return _marked(draft, reports=True, report=_said_in_several_parts(draft))
    return draft.append(UserText(phrases.REPORT_OR_CLOSE), now_ms)


def _said_in_several_parts(draft: Draft) -> str:
    """Return all texts of the turn that ends, or nothing where its last one is all: notes of ours are texts as well."""
    last = draft.entries[-1].turn
    texts = [entry.body.text for entry in draft.entries if entry.turn == last and isinstance(entry.body, AssistantText)]
    return shown_text("\n\n".join(texts), births.SAID_CHARS) if len(texts) > 1 else ""


def _since_input(draft: Draft) -> Iterator[Entry]:
    """Yield the own entries since something last came from outside, newest first."""
    own = draft.own_entries()
    for entry in reversed(own[1:] if own and own[0].position == draft.row.birth.inherited + 1 else own):
        if getattr(entry.body, "cause", None) is not None:
            return
        yield entry


def _has_reported(draft: Draft) -> bool:
    bodies = [entry.body for entry in _since_input(draft)]
    return any(isinstance(body, ToolResult) and isinstance(body.deed, Reported) for body in bodies)


def _marked(draft: Draft, *, reports: bool = False, closes: bool = False, report: str = "") -> Draft:
    last = draft.entries[-1]
    assert isinstance(last.body, AssistantText)
    body = replace(last.body, reports=reports, closes=closes, report=report)
    return replace(draft, entries=(*draft.entries[:-1], replace(last, body=body)))
