"""Two slices of one thread at the same time, each held at a point of its way until the other one has got on."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from scripts.commands.messages import TextMessage, send
from scripts.commands.target import Target
from scripts.demonstration.crash_evidence import KILL_POINTS, KillPoint
from scripts.offline_stack.interposers.interventions import Exchange, Hold, Stage, Strikes
from scripts.offline_stack.interposers.watch import Watch

HELD_WITHIN_S = 30
POINTS = {point.name: point for point in KILL_POINTS}
END = "after the receipts"


@dataclass(frozen=True, slots=True)
class Said:
    """A text that is on its way: its thread, and the id that SQS gave it."""

    thread_id: str
    message_id: str


def new_thread(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex[:8]}"


def say(target: Target, thread_id: str, text: str) -> Said:
    sent = send(target.sqs, target.input_queue_url, TextMessage(thread_id, text))
    return Said(thread_id, sent.sqs_message_id)


def ask_for_a_build(target: Target, thread_id: str) -> Said:
    """The thread stands in the text, so that what the model is asked shows whose request it is."""
    return say(target, thread_id, f"Please build for 0 seconds, for {thread_id}.")


def at(thread_id: str, what: str, when: Stage) -> Strikes:
    """This step of a slice of this thread, at this stage."""

    def strikes(exchange: Exchange, stage: Stage) -> bool:
        return (exchange.what, stage) == (what, when) and exchange.is_about(thread_id)

    return strikes


@contextmanager
def short_visibility(target: Target, seconds: int) -> Iterator[None]:
    """Have messages that are being handled reappear after so many seconds.

    Set at the queue itself, as a person might: the app refuses a visibility below its function's time limit.
    """
    url = target.input_queue_url
    before = target.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])["Attributes"]
    target.sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": str(seconds)})
    try:
        yield
    finally:
        target.sqs.set_queue_attributes(QueueUrl=url, Attributes=before)


def overlap(watch: Watch, target: Target, first: str, second: str) -> Said:
    """Hold one slice at a point, and the next one, to which the message is given meanwhile, at another; then release
    the first, and when that one has got to its end, the second.

    A second slice that is held after its receipts is at its end already.
    """
    thread_id = new_thread("overlap")
    ours, theirs = _hold(watch, thread_id, POINTS[first]), None
    try:
        said = ask_for_a_build(target, thread_id)
        _until_held(ours, f"first slice {first}")
        theirs = _hold(watch, thread_id, POINTS[second])
        _until_held(theirs, f"second slice {second}")
        if second == END:
            return said
        end = _hold(watch, thread_id, POINTS[END])
        ours.release()
        _until_held(end, "end of the first slice")
        end.release()
        return said
    finally:
        for hold in filter(None, (ours, theirs)):
            hold.release()


def _hold(watch: Watch, thread_id: str, point: KillPoint) -> Hold:
    return watch.hold(at(thread_id, point.step, point.stage))


def _until_held(hold: Hold, name: str) -> None:
    assert hold.wait(HELD_WITHIN_S) is not None, f"{name}: nobody came there within {HELD_WITHIN_S} s"
