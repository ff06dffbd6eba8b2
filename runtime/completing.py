"""Asking the model, within the time a slice has."""

import contextlib
from dataclasses import replace

from runtime import compaction, shrinking
from runtime.calendar_days import utc_day
from runtime.context import model_request
from runtime.draft import Draft
from runtime.errors import CutByDeadline, ModelUnavailable, RetryableError, TooLong
from runtime.model.entries import Entry
from runtime.model.threads import TokensOfDay
from runtime.model.turns import Completion, ModelRequest
from runtime.outputs import error_output
from runtime.run import Run
from runtime.showing import with_images, without_images
from runtime.tools.offer import Offer

_TRIES = 3
_FIRST_PAUSE_S = 1.0
# A try may use this share of the time that is left, so that one which is cut can be repeated shorter.
_SHARE_OF_A_TRY = 0.6
# What a request may have of the window, as far as can be guessed, each time it was refused as too long.
_SHARES_OF_THE_WINDOW = (0.6, 0.4, 0.25, 0.15)
# Time kept for the commit and its effects.
_KEPT_S = 15.0


def complete(draft: Draft, offer: Offer, run: Run) -> Completion:
    """Return the turn after the draft's tail. Attempts that fail are discarded whole and leave no trace.

    Tried again with a growing, jittered pause while there is time to begin a completion; after one that the time
    limit cut, half as long an answer is asked for.

    Whoever waits is told, once, when the messages have to come back for it.

    Raises:
        RetryableError: the model, or an image it is to see, could not be had within this slice.
        PermanentError: the model will never accept this request.
    """
    settings = run.settings
    entries = _shown_entries(draft, run)
    request = model_request(draft, entries, offer.specs, settings.system_prompt, settings.max_tokens)
    try:
        if compaction.is_compaction(draft):
            return _with_less_and_less(request, run)
        return _whole_or_in_part(request, draft, run)
    except RetryableError as failure:
        _say_that_it_is_retried(draft, failure, run)
        raise


def _shown_entries(draft: Draft, run: Run) -> tuple[Entry, ...]:
    entries = draft.visible_entries()
    return with_images(entries, run.ports.payloads) if run.settings.shows_images else without_images(entries)


def _with_less_and_less(request: ModelRequest, run: Run) -> Completion:
    """Ask for a summary of a history that may itself be too long: then of it without what is large and old."""
    for share in _SHARES_OF_THE_WINDOW:
        try:
            return _with_tries(request, run)
        except TooLong:
            request = shrinking.shrunk(request, int(run.settings.model_window_tokens * share))
    return _with_tries(request, run)


def _whole_or_in_part(request: ModelRequest, draft: Draft, run: Run) -> Completion:
    """Ask with everything; where that is too long and no summary can help any more, without what is large and old.

    What came in together is too large then, though each of it alone may not be: it is better read in part than not.
    """
    try:
        return _with_tries(request, run)
    except TooLong:
        to_be_parted = len(draft.consumed) > 1  # the first message alone may be answered as it is
        now_ms = run.ports.clock.now_ms()
        if to_be_parted or compaction.instead_of_answering(draft, now_ms, run.settings) is not None:
            raise
        completion = _in_part(request, run)
        if completion is None:
            raise
        return completion


def _in_part(request: ModelRequest, run: Run) -> Completion | None:
    """Return the turn, or None where nothing large is left to leave out."""
    for share in _SHARES_OF_THE_WINDOW:
        smaller = shrinking.shrunk(request, int(run.settings.model_window_tokens * share))
        if smaller != request:
            request = smaller
            with contextlib.suppress(TooLong):
                return _with_tries(request, run)
    return None


def _with_tries(request: ModelRequest, run: Run) -> Completion:
    share = _SHARE_OF_A_TRY
    for attempt in range(1, _TRIES + 1):
        try:
            return run.ports.model.complete(request, _timeout_s(run, share))
        except ModelUnavailable as error:
            pause_s = _FIRST_PAUSE_S * 2 ** (attempt - 1) * (0.5 + run.ports.clock.chance())
            if attempt == _TRIES or run.remaining_s - pause_s < run.settings.completion_reserve_s:
                raise
            if isinstance(error, CutByDeadline):
                request, share = _shorter(request), 1.0  # the last one that time allows; it gets all of it
            run.ports.clock.sleep(pause_s)
    raise AssertionError("the last try returns or raises")


def _timeout_s(run: Run, share: float) -> float:
    return max(1.0, min(run.remaining_s - _KEPT_S, max(run.remaining_s * share, _KEPT_S)))


def _shorter(request: ModelRequest) -> ModelRequest:
    return replace(request, max_tokens=max(1, request.max_tokens // 2))


def with_tokens(draft: Draft, completion: Completion, run: Run) -> Draft:
    """Return the draft with this completion's tokens counted to today."""
    day, used = utc_day(run.ports.clock.now_ms()), completion.usage.total_tokens
    before = draft.row.tokens.used if draft.row.tokens.day == day else 0
    row = replace(draft.row, tokens=TokensOfDay(day, before + used))
    return replace(draft, row=row, spent=draft.spent + used)


def _say_that_it_is_retried(draft: Draft, failure: RetryableError, run: Run) -> None:
    """Tell whoever waits, once: on the first receive of a message that comes back. Nobody waits for a summary."""
    if run.receive_count > 1 or not draft.consumed or compaction.is_compaction(draft):
        return
    about = draft.consumed[0].key.message_id
    text = "The model cannot be reached. This is tried again by itself."
    run.ports.queues.send_outputs([error_output(draft.thread.row, about, failure.code, text, retrying=True)])
