"""What a tool lets its user choose: kept before it is shown, and open until the tool has been told what was chosen."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from runtime import calling
from runtime.effects import OfferChoice, TakeChoice
from runtime.errors import HandOverFailed, RetryableError
from runtime.identity import digest
from runtime.model.choices import Choice
from runtime.model.threads import ThreadRow
from runtime.outputs import choice_output, error_output, output_of_message
from runtime.run import Run

logger = logging.getLogger(__name__)


def perform(effect: OfferChoice | TakeChoice, row: ThreadRow, run: Run) -> None:
    """Do what the effect says.

    Raises:
        RetryableError: it is not done, or not all of it; doing it again is harmless.
    """
    if isinstance(effect, TakeChoice):
        _take(effect, row, run)
        return
    run.ports.choices.put(effect.choice)  # before it is shown: an answer may come at once
    run.ports.queues.send_outputs([effect.shown])


def _take(effect: TakeChoice, row: ThreadRow, run: Run) -> None:
    """Tell the tool server what was chosen, then everybody that it is chosen, then keep that it is: in this order.

    Whoever dies between two of these is repeated, under the same names. What is out of range is the default; what was
    chosen before stays. Where a server cannot be told, whoever waits is told so, and may choose again.
    """
    choice = run.ports.choices.get(row.thread_id, effect.choice_id)
    if choice is None or choice.completed:
        run.counted.append("answer_to_no_open_choice")
        return
    taken = effect.selected if 0 <= effect.selected < len(choice.choices) else choice.default
    try:
        calling.answer_choice(choice, taken, effect.message_id, run)
    except HandOverFailed as failure:
        _offer_again(choice, effect.message_id, failure.reason, row, run)
        return
    except RetryableError:
        if run.receive_count < run.settings.effect_patience_receives:
            raise
        _offer_again(choice, effect.message_id, "the tool server could not be told, again and again", row, run)
        return
    _complete(choice, taken, row, run)


def complete_choices_of(call_ids: Sequence[str], row: ThreadRow, run: Run) -> None:
    """Take back what calls that nobody waits for any more have asked their user."""
    if not call_ids:
        return
    for choice in run.ports.choices.of_thread(row.thread_id):
        if choice.call_id in call_ids:
            _complete(choice, None, row, run)


def complete_choices_of_closed(thread_ids: Sequence[str], row: ThreadRow, run: Run) -> None:
    """Take back whatever these threads, which have closed together, have asked their user."""
    for thread_id in thread_ids:
        for choice in run.ports.choices.of_thread(thread_id):
            _complete(choice, None, replace(row, thread_id=thread_id), run)


def _complete(choice: Choice, taken: int | None, row: ThreadRow, run: Run) -> None:
    fields = {"choice_id": choice.choice_id}
    run.ports.queues.send_outputs([output_of_message(row, choice.choice_id, "user_choice_complete", fields)])
    run.ports.choices.complete(row.thread_id, choice.choice_id, taken)


def _offer_again(choice: Choice, message_id: str, reason: str, row: ThreadRow, run: Run) -> None:
    """Offer the same under another id. Answers are named after their choice: another one to this would be a repeat."""
    run.counted.append("choice_not_handed_over")
    again = replace(choice, choice_id=digest(row.thread_id, message_id))
    run.ports.choices.put(again)
    logger.warning("choice not handed over", extra={"thread_id": row.thread_id, "reason": reason})
    # One text, whatever the reason: a repeat may fail for another one, and says the same under the same name.
    text = "Your choice could not be passed on. Please choose again."
    failed = error_output(row, message_id, "choice_not_handed_over", text)
    run.ports.queues.send_outputs([failed, choice_output(row, message_id, again)])
    _complete(choice, None, row, run)
