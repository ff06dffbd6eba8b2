"""Who waits for what in a whole deployment, the oldest first. Pure but for `read_pending`, which asks the stores."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from runtime.model.calls import LIVE_STATES
from scripts.inspection.deployment import Deployment
from scripts.inspection.moments import as_json
from scripts.inspection.reading import AskingThread, CallOf, Reader
from scripts.inspection.states import sleeps
from scripts.inspection.stores import OpenChoice, QueueDepth, open_choices, queue_depths

WaitKind = Literal["tool", "detached tool", "sleep", "subscription", "choice", "asks the model", "gave up"]


@dataclass(frozen=True, slots=True)
class Wait:
    """Something that somebody waits for. `due_ms` is when it goes on by itself, where it does.

    A choice bears no time: `since_ms` is that of the call which asked, at the earliest; None if that one is not known.
    """

    kind: WaitKind
    thread_id: str
    since_ms: int | None
    what: str
    due_ms: int | None = None


@dataclass(frozen=True, slots=True)
class PendingView:
    """`is_cut`: there are more waits, younger than these. A queue's dead letters wait for `scripts/redrive`."""

    waits: tuple[Wait, ...]
    queues: tuple[QueueDepth, ...]
    is_cut: bool


def read_pending(deployment: Deployment, limit: int) -> PendingView:
    """Return the `limit` oldest waits of the deployment. Open choices are looked for where a call may have asked."""
    reader, enough = Reader(deployment), limit + 1
    live = reader.waiting_calls(LIVE_STATES, enough)
    failed = reader.waiting_calls(["failed"], enough)  # nobody waits for them, but their user may still be asked
    asking = reader.asking_threads(enough)
    threads = dict.fromkeys(each.thread_id for each in (*live, *failed))
    choices = [choice for thread_id in threads for choice in open_choices(deployment, thread_id)]
    return pending_view(live, failed, asking, choices, queue_depths(deployment), limit)


def pending_view(
    live: Sequence[CallOf],
    failed: Sequence[CallOf],
    asking: Sequence[AskingThread],
    choices: Iterable[OpenChoice],
    queues: Iterable[QueueDepth],
    limit: int,
) -> PendingView:
    """Return the oldest of all these waits."""
    asked_ms = {(each.thread_id, each.call.call_id): each.call.committed_ms for each in (*failed, *live)}
    waits = [*map(_of_call, live), *map(_of_thread, asking), *(_of_choice(choice, asked_ms) for choice in choices)]
    waits.sort(key=lambda wait: (wait.since_ms is None, wait.since_ms or 0, wait.thread_id))
    return PendingView(tuple(waits[:limit]), tuple(queues), is_cut=len(waits) > limit)


def _of_call(found: CallOf) -> Wait:
    call = found.call
    kind: WaitKind = "subscription" if call.state == "subscribed" else "detached tool"
    if call.state == "pending":
        kind = "sleep" if sleeps(call) else "tool"
    return Wait(kind, found.thread_id, call.committed_ms, f"{call.name} {as_json(call.arguments)}", call.due_ms)


def _of_thread(asking: AskingThread) -> Wait:
    gave_up = asking.row.gave_up
    if gave_up is None:
        return Wait("asks the model", asking.row.thread_id, asking.since_ms, f"a {asking.row.birth.kind} thread")
    again = f", try {gave_up.attempt}" if gave_up.attempt else ""
    return Wait("gave up", asking.row.thread_id, asking.since_ms, f"{gave_up.code}{again}", gave_up.wake_due_ms)


def _of_choice(choice: OpenChoice, asked_ms: dict[tuple[str, str], int]) -> Wait:
    since_ms = asked_ms.get((choice.thread_id, choice.call_id))
    return Wait("choice", choice.thread_id, since_ms, f"{choice.choice_id}: {choice.prompt} {as_json(choice.choices)}")
