"""What becomes of messages that cannot be handled: which commit gives up on them. The slice commits.

Transient → they come back later, all of a group at the same time. The model refuses → they are kept, withheld from
it. Patience ends → they are kept as they are. Whatever is given up on with a tail that asks is asked again later by a
timer of ours: an agent woken by a tool at night has nobody else to wake it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from runtime import compaction
from runtime.calendar_days import next_day_ms, utc_day
from runtime.draft import Draft
from runtime.errors import PermanentError, RefusedTogether, RetryableError, TooLong
from runtime.model.entries import AssistantText, Entry, Event, Reasoning, ToolCall, ToolResult, UserText
from runtime.model.messages import WakeContent
from runtime.model.threads import Commit, GaveUp, TokensOfDay
from runtime.run import Run
from runtime.steps import steps_since_input

_BACK_OFF_FIRST_S = 5
_BACK_OFF_LIMIT_S = 300
# A transaction of DSQL takes 3,000 rows.
_WITHHELD_AT_ONCE = 2_000
DIED = "died"
_TEXTS = {
    "model_refused": "The model provider refuses this input. It is kept, and no longer shown to the model.",
    "too_long": "The conversation no longer fits the model's window.",
    DIED: "Handling this input ended the process several times. It is kept, and no longer shown to the model.",
    "too_many_completions": "The agent stopped: it took too many steps without anything new coming in.",
    "tokens_of_day_used": "The tokens of this conversation for today are used up.",
}
_GOES_ON_TEXT = "The model could not be reached. The conversation goes on by itself when it can."
_STOPS_TEXT = "The model could not be reached. The conversation goes on when something new comes in."


def back_off_s(receive_count: int, chance: float) -> int:
    """Return the visibility until the next try: 5 s doubling with every receive, jittered, at most 300 s."""
    longest: int = min(_BACK_OFF_LIMIT_S, _BACK_OFF_FIRST_S * 2 ** min(receive_count - 1, 10))
    return max(1, round(longest * (0.5 + chance / 2)))


def go_on_without(draft: Draft, failure: PermanentError | RetryableError, run: Run) -> Commit:
    """Return the commit after a completion that failed: of a request that is too long, one that has it made shorter.

    Raises:
        RefusedTogether, RetryableError: as `give_up`.
    """
    if isinstance(failure, TooLong):
        compacting = compaction.instead_of_answering(draft, run.ports.clock.now_ms(), run.settings)
        if compacting is not None:
            return compacting.commit(run.ports.clock.fresh_id())
    return give_up(draft, failure, run)


def give_up(draft: Draft, failure: PermanentError | RetryableError, run: Run) -> Commit:
    """Return the commit that gives up on the completion that failed.

    Raises:
        RefusedTogether: one of several messages is what the model refuses; which one is to be found out first.
        RetryableError: `failure` itself, while there is patience left.
    """
    if isinstance(failure, PermanentError):
        if len(draft.consumed) > 1:
            raise RefusedTogether from failure
        return withhold(draft, failure.code, run)
    if run.receive_count < run.settings.patience_receives:
        raise failure
    return _keep_inputs(draft, failure.code, run)


def _keep_inputs(draft: Draft, code: str, run: Run) -> Commit:
    """Return the commit that keeps the inputs as they are and says that they are not answered yet."""
    again = _again(draft, run)
    text = _STOPS_TEXT if again.due_ms is None and draft.asks else _GOES_ON_TEXT
    return _committed(draft, _gave_up(draft, code, text, again), run)


def withhold(draft: Draft, code: str, run: Run) -> Commit:
    """Return the commit that keeps everything since the last accepted completion, never to be shown to the model.

    One of these entries is what the model refuses, or what ends the process; shown again, it would do so for ever. A
    message that ended processes is withheld alone: what was committed before it got that far without dying.
    """
    alone = code == DIED and draft.entries
    suspects = () if alone else _suspects(draft)
    entries = tuple(_withheld(entry, code) for entry in draft.entries)
    # A summary without what is asked of it would be none.
    again = _Again(None, None) if compaction.is_compaction(draft) else _again(draft, run)
    gave_up = _gave_up(draft, code, _TEXTS.get(code, _TEXTS["model_refused"]), again)
    plain = _committed(replace(draft, entries=entries), gave_up, run)
    return replace(plain, withheld=suspects, withheld_code=code)


def _suspects(draft: Draft) -> tuple[int, ...]:
    """Return the own positions of what may be refused, the newest; the rest, if there is any, at the next refusal."""
    inherited = draft.row.birth.inherited
    newer = _since_last_completion(draft.thread.entries)
    shown = [entry.position for entry in newer if entry.withheld is None and entry.position > inherited]
    return tuple(shown[:_WITHHELD_AT_ONCE])


def stop(draft: Draft, code: str, run: Run) -> Commit:
    """Return the commit of a thread whose budget is used up; it asks again when the budget is a new one, if ever."""
    wake_due_ms = next_day_ms(run.ports.clock.now_ms()) if code == "tokens_of_day_used" else None
    return _committed(draft, _gave_up(draft, code, _TEXTS[code], _Again(0, wake_due_ms)), run)


def _committed(draft: Draft, gave_up: GaveUp, run: Run) -> Commit:
    """Return the commit; a thread for one event, or one summary, that nobody would ever wake again closes with it."""
    if draft.row.birth.kind in ("event", "compaction") and gave_up.wake_due_ms is None and draft.nothing_runs:
        draft = draft.close()
    return draft.commit(run.ports.clock.fresh_id(), gave_up)


@dataclass(frozen=True, slots=True)
class _Again:
    attempt: int | None
    due_ms: int | None


def _again(draft: Draft, run: Run) -> _Again:
    """Return when to ask again: after 15 minutes doubling with every give-up in a row, a bounded number of times."""
    attempt = max((m.content.attempt for m in draft.consumed if isinstance(m.content, WakeContent)), default=0)
    if not draft.asks or attempt >= run.settings.give_ups:
        return _Again(None, None)
    return _Again(attempt + 1, run.ports.clock.now_ms() + run.settings.give_up_delay_s * 1000 * 2**attempt)


def _gave_up(draft: Draft, code: str, text: str, again: _Again) -> GaveUp:
    about = draft.consumed[0].key.message_id if draft.consumed else f"version:{draft.thread.row.version}"
    return GaveUp(about, code, text, again.attempt, again.due_ms)


def _since_last_completion(entries: Sequence[Entry]) -> list[Entry]:
    newer: list[Entry] = []
    for entry in reversed(entries):
        if isinstance(entry.body, AssistantText | Reasoning | ToolCall):
            break
        newer.append(entry)
    return newer


def _withheld(entry: Entry, code: str) -> Entry:
    return replace(entry, withheld=code) if isinstance(entry.body, UserText | ToolResult | Event) else entry


def budget_used_up(draft: Draft, run: Run) -> str | None:
    """Return the code of the budget that forbids another completion, or None."""
    if _tokens_of(utc_day(run.ports.clock.now_ms()), draft) >= run.settings.tokens_per_day:
        return "tokens_of_day_used"
    if steps_since_input(draft) >= run.settings.completions_per_input:
        return "too_many_completions"
    return None


def _tokens_of(day: str, draft: Draft) -> int:
    """Return what the whole tree has used on this day. A root counts its own in its row, everybody else elsewhere."""
    own = draft.row.tokens if draft.row.birth.kind == "root" else TokensOfDay()
    return sum(tokens.used for tokens in (own, draft.thread.family.tokens) if tokens.day == day)
