"""One activation of one thread. Everything a message causes happens here, in this order.

    receipts? → load → effects still owed → repeat? hand over → prepare → (complete → commit → its effects)* → receipts

Commit, then effects, then receipts: nothing outside learns of a turn before it is durable, and a receipt means
"completely handled". Whoever comes next first performs what an attempt that died still owed, so a slice may end
anywhere. No lock is held: a commit is conditional on the version that was loaded, and a slice that sees the traces of
another attempt hands over instead of answering beside it.
"""

from collections.abc import Sequence

from runtime import compaction, giving_up
from runtime.arrival import arrived, loaded, unhandled
from runtime.completing import complete, with_tokens
from runtime.draft import Draft
from runtime.effects import effects_after, effects_of_messages, effects_of_refused
from runtime.errors import PermanentError, RetryableError
from runtime.interpret import Moment, interpret
from runtime.model.after import after
from runtime.model.messages import Delivery, Message
from runtime.model.threads import Commit, Thread
from runtime.outcome import SliceResult
from runtime.own_messages import wake_message
from runtime.perform import perform
from runtime.prepare import prepare
from runtime.run import Run
from runtime.trial import open_case


def run_slice(thread_id: str, deliveries: Sequence[Delivery], run: Run) -> SliceResult:
    """Handle the messages delivered for one thread. Safe to repeat after any failure.

    Returns which deliveries are handled; the others are to come back at once.

    Raises:
        RetryableError: deliver the same messages again, later.
        StartAgain: another attempt came first, or may have; call this again.
        RefusedTogether: call this again with the first message alone.
    """
    ports = run.ports
    progress = ports.receipts.read(thread_id, [delivery.message.key for delivery in deliveries])
    todo = unhandled(deliveries, progress)
    if not todo:
        return SliceResult.of(deliveries, progress)
    thread = loaded(thread_id, todo, progress.performed, ports.history, run.limits)

    case = open_case(effects_after(thread, progress.performed), todo, thread.inbox, progress.mark, run.settings)
    if case.mark is not None:
        ports.receipts.mark(thread_id, case.mark)
    perform(case.effects, thread.row, run)  # what an earlier attempt left undone
    if case.verdict == "try this effect alone":
        ports.receipts.write(thread_id, (), case.effects[-1].position)
        return SliceResult.of(deliveries, progress)

    if thread.inbox:  # another attempt was here, and may still be: never answer beside it
        repeats = [delivery.message for delivery in todo if delivery.message.key in thread.inbox]
        hand_over(thread, repeats, run)
        return SliceResult.of(deliveries, progress, repeats, ["handed_over"])
    if not thread.is_open:
        messages = [delivery.message for delivery in todo]
        perform(effects_of_refused(thread.row, messages), thread.row, run)
        ports.receipts.write(thread_id, messages, thread.row.head)
        return SliceResult.of(deliveries, progress, messages, ["thread_closed"] * len(messages))

    messages = [delivery.message for delivery in case.deliveries]
    is_condemned = case.verdict == "withhold this message"  # perhaps for what it brings, which is left where it is
    if not is_condemned:
        messages = [arrived(message, ports.payloads, run.limits) for message in messages]
    draft = prepare(thread, messages, ports.clock.now_ms(), run.limits)
    thread = settle(giving_up.withhold(draft, giving_up.DIED, run), thread, run) if is_condemned else answer(draft, run)
    perform(effects_of_messages(thread, messages), thread.row, run)  # those that leave no row
    ports.receipts.write(thread_id, messages, thread.row.head)
    result = SliceResult.of(deliveries, progress, messages, draft.dropped)
    return result.waiting_for(thread.calls.values(), ports.clock.now_ms())


def answer(draft: Draft, run: Run) -> Thread:
    """(complete → commit → its effects)*, while the tail asks and budget and time remain."""
    clock, settings = run.ports.clock, run.settings
    offer = run.environment.offers.of(draft.thread.row, run.ports, run.counted) if draft.asks else None
    for _ in range(settings.completions_per_slice):
        if offer is None or not draft.asks or not run.may_complete:
            break
        if budget := giving_up.budget_used_up(draft, run):
            return settle(giving_up.stop(draft, budget, run), draft.thread, run)
        try:
            completion = complete(draft, offer, run)
        except (PermanentError, RetryableError) as failure:
            return settle(giving_up.go_on_without(draft, failure, run), draft.thread, run)
        moment = Moment(clock.now_ms(), run.limits)
        turn = interpret(with_tokens(draft, completion, run), completion, offer, moment)
        turn = compaction.begun_if_due(turn, completion.usage, moment.now_ms, settings)
        draft = Draft.of(settle(turn.commit(clock.fresh_id()), draft.thread, run))
    if draft.changes_history or (draft.asks and draft.consumed):
        draft = Draft.of(settle(draft.commit(clock.fresh_id()), draft.thread, run))
    ask_again(draft, run)
    return draft.thread


def settle(commit: Commit, thread: Thread, run: Run) -> Thread:
    """Make the commit durable, then perform its effects. Returns the thread as it is now."""
    run.ports.history.commit(commit)
    if commit.row.gave_up is not None:
        run.counted.append(f"gave_up_{commit.row.gave_up.code}")
    committed = after(thread, commit)
    perform(effects_after(committed, thread.row.head), committed.row, run)
    return committed


def hand_over(thread: Thread, repeats: Sequence[Message], run: Run) -> None:
    """Finish messages that an attempt which died, or still lives, has consumed; the answer is left to a wake."""
    perform(effects_of_messages(thread, repeats), thread.row, run)
    if thread.is_open and (thread.row.gave_up is None or thread.row.gave_up.wake_due_ms is None):
        ask_again(Draft.of(thread), run)  # else its timer does, which has just been started again
    run.ports.receipts.write(thread.row.thread_id, repeats, thread.row.head)


def ask_again(draft: Draft, run: Run) -> None:
    """Wake the thread by a message to itself if its tail still asks.

    The wake carries the version of the newest commit: named after an older one, its receipt would swallow it.
    """
    if draft.asks:
        run.ports.queues.send_inputs([wake_message(draft.thread_id, draft.thread.row.version)])
