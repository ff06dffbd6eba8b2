"""A history that outgrows the model's window: a thread of its own writes a summary, while this one goes on.

The summary stands for everything up to a position and is shown instead of it. What is behind stays as it is, and what
still asks for an answer is never summarised. Pure.
"""

import json
from dataclasses import replace

from runtime import births, going_on, phrases
from runtime.cut_off import cut_off
from runtime.draft import Draft
from runtime.items import stored_text
from runtime.model.entries import AssistantText, Entry, ToolCall, Usage
from runtime.model.messages import CompactionContent
from runtime.model.threads import Compaction, Summary, SummaryRef
from runtime.model.turns import FILTERED
from runtime.settings import Settings
from runtime.steps import STEPS, steps_since_input

_CALLS_REFUSED = 2
_NOTES = (phrases.CUT_OFF, phrases.STOPPED_EARLY)


def begun_if_due(draft: Draft, usage: Usage, now_ms: int, settings: Settings) -> Draft:
    """Return the draft with a compaction begun, if the last completion read more than its share of the window."""
    if draft.row.compaction is not None and draft.row.compaction.failed:  # it did not come to the worst
        draft = replace(draft, row=replace(draft.row, compaction=None))
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    due = read > settings.model_window_tokens * settings.compaction_share
    if not due or is_compaction(draft) or draft.row.closed or _is_in_flight(draft, now_ms, settings):
        return draft
    return _begun(draft, now_ms) or draft


def instead_of_answering(draft: Draft, now_ms: int, settings: Settings) -> Draft | None:
    """Return the draft of a request that is too long: its compaction, once complete, goes on with it by itself.

    None if that cannot help: there is nothing to summarise, or summarising this very history has failed.
    """
    if _is_in_flight(draft, now_ms, settings):
        return draft
    mark = draft.row.compaction
    if is_compaction(draft) or (mark is not None and mark.failed_at == draft.head):
        return None
    return _begun(draft, now_ms)


def is_compaction(draft: Draft) -> bool:
    return draft.row.birth.kind == "compaction"


def _is_in_flight(draft: Draft, now_ms: int, settings: Settings) -> bool:
    mark = draft.row.compaction
    return mark is not None and not mark.failed and now_ms - mark.since_ms < settings.compaction_life_s * 1000


def _begun(draft: Draft, now_ms: int) -> Draft | None:
    position = cut_off(draft.visible_entries())
    if position is None:
        return None
    new = births.compaction_thread(draft, position, now_ms)
    row = replace(draft.row, compaction=Compaction(new.row.thread_id, position, now_ms))
    return replace(draft, row=row).with_thread(new)


def ended(draft: Draft, content: CompactionContent) -> Draft:
    """Take the end of a compaction: its summary comes into use, or it has failed."""
    mark = draft.row.compaction
    if mark is None or mark.thread_id != content.compaction_id:
        return draft.drop("compaction_of_another_time")
    summary = draft.thread.summaries.get(content.compaction_id)
    if summary is None:
        return replace(draft, row=replace(draft.row, compaction=replace(mark, failed_at=draft.head)))
    row = replace(draft.row, compaction=None, summary=summary.ref)
    return replace(draft, row=row, frozen_state=_state(draft, mark.up_to))


def _state(draft: Draft, up_to: int) -> str:
    """Return what is going on now. It is frozen into the summary: later changes show in later entries."""
    state = {
        **going_on.activity_of(draft),
        "task": draft.row.birth.task or None,
        "user_id": draft.row.person.user_id,
        STEPS: steps_since_input(draft, up_to),
    }
    return json.dumps({name: value for name, value in state.items() if value}, ensure_ascii=False)


def takes_no_more_calls(draft: Draft) -> bool:
    """Whether a compaction has called tools so often, which it may not, that its text so far is taken."""
    if not is_compaction(draft):
        return False
    return sum(isinstance(entry.body, ToolCall) for entry in draft.own_entries()) >= _CALLS_REFUSED


def written(draft: Draft) -> Draft:
    """Return the draft of a compaction whose turn has ended: it closes, and its text is the summary.

    Without a text, or with one that a filter ended, it has failed: nothing stands in place of the conversation.
    """
    text = _text_of_last_turn(draft)
    if text is None:
        return draft.close()
    ref = SummaryRef(draft.thread_id, draft.row.birth.inherited)
    return replace(draft.close(), summary=Summary(ref, stored_text(text)))


def _text_of_last_turn(draft: Draft) -> str | None:
    """Return what was said last, or before it, between calls that were refused, if nothing was."""
    said = [entry for entry in draft.own_entries() if isinstance(entry.body, AssistantText)]
    last = draft.entries[-1]
    assert isinstance(last.body, AssistantText)
    if last.body.finish is not None and last.body.finish.stop in FILTERED:
        return None
    return _joined([entry for entry in said if entry.turn == last.turn]) or _joined(said)


def _joined(entries: list[Entry]) -> str | None:
    texts = [entry.body.text for entry in entries if isinstance(entry.body, AssistantText) and entry.body.text.strip()]
    return "\n\n".join(texts) if any(text not in _NOTES for text in texts) else None


def introduced(summary: Summary) -> str:
    """Return the summary as the model is shown it."""
    state = f"\n\n{phrases.STATE_AT_SUMMARY}\n{summary.state}" if summary.state else ""
    return f"{phrases.SUMMARY_BEGINS}\n\n{summary.text}{state}"
