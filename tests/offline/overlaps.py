"""Two slices of one thread at the same time, each held at a point of its way until the other one has got on."""

import time
import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.commands.messages import TextMessage
from scripts.commands.target import Target
from scripts.demonstration.crash_evidence import KILL_POINTS, KillPoint
from scripts.offline_stack.interposers.interventions import Exchange, Hold, Stage, Strikes
from scripts.offline_stack.interposers.watch import Watch
from tests.offline.conversations import json_lines

HELD_WITHIN_S = 45
PAUSE_S = 0.05
A_BATCH = 10
POINTS = {point.name: point for point in KILL_POINTS}
END = "after the receipts"


@dataclass(frozen=True, slots=True)
class Said:
    """A text that is on its way: its thread, and the id that SQS gave it."""

    thread_id: str
    message_id: str


def new_thread() -> str:
    """All names are of one length, so that the model counts the same tokens."""
    return f"overlap-{uuid.uuid4().hex[:8]}"


def build_for(thread_id: str) -> str:
    """A wish for a build. The thread stands in the text, so that a request to the model shows whose it is."""
    return f"Please build for 0 seconds, for {thread_id}."


def say_together(target: Target, messages: Sequence[TextMessage]) -> list[Said]:
    """Send the texts in as few pieces as SQS allows, so that slices get several in one delivery."""
    said = []
    for start in range(0, len(messages), A_BATCH):
        part = messages[start : start + A_BATCH]
        answer = target.sqs.send_message_batch(
            QueueUrl=target.input_queue_url,
            Entries=[
                {
                    "Id": str(place),
                    "MessageBody": message.body,
                    "MessageGroupId": message.thread_id,
                    "MessageDeduplicationId": message.deduplication_id,
                }
                for place, message in enumerate(part)
            ],
        )
        sent = {entry["Id"]: entry["MessageId"] for entry in answer["Successful"]}
        said += [Said(message.thread_id, sent[str(place)]) for place, message in enumerate(part)]
    return said


def at(thread_id: str, what: str, when: Stage) -> Strikes:
    """This step of a slice of this thread, at this stage."""

    def strikes(exchange: Exchange, stage: Stage) -> bool:
        return (exchange.what, stage) == (what, when) and exchange.is_about(thread_id)

    return strikes


def wait_until_delivered(deliveries: Path, message_ids: Collection[str]) -> None:
    """Return when the poller has noted a delivery of each of these messages."""
    deadline = time.monotonic() + HELD_WITHIN_S
    while time.monotonic() < deadline:
        lines = [line for line in json_lines(deliveries) if line["what"] == "batch delivered"]
        if set(message_ids) <= {message_id for line in lines for message_id in line["message_ids"]}:
            return
        time.sleep(PAUSE_S)
    raise AssertionError(f"not everything was delivered within {HELD_WITHIN_S} s")


@contextmanager
def short_visibility(target: Target, seconds: int) -> Iterator[None]:
    """Have the messages that are received in this block reappear after so many seconds.

    Set at the queue itself, as a person might: the app refuses a visibility below its function's time limit.
    """
    url = target.input_queue_url
    before = target.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["VisibilityTimeout"])["Attributes"]
    target.sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": str(seconds)})
    try:
        yield
    finally:
        target.sqs.set_queue_attributes(QueueUrl=url, Attributes=before)


class Overlap:
    """One slice of a thread is held at a point, and the next one, which gets the same message, at another.

    Then the first is let go to its end, and after it the second. One that is held after its receipts is at its end.
    `pids` are the processes of the two, once it is resolved.
    """

    pids: tuple[int, ...] = ()

    def __init__(self, watch: Watch, thread_id: str, first: str, second: str) -> None:
        self._first = watch.hold(_strikes(thread_id, POINTS[first]))
        self._second = watch.hold(_strikes(thread_id, POINTS[second]), after=self._first)
        self._end = None if second == END else watch.hold(_strikes(thread_id, POINTS[END]))
        self._name = f"{first}, {second}"

    def resolve(self) -> None:
        """Let them end in their order, once both are held."""
        self.pids = (self._wait(self._first, "first slice"), self._wait(self._second, "second slice"))
        self._first.release()
        if self._end is not None:
            self._wait(self._end, "end of the first slice")
        self.release()

    def release(self) -> None:
        """Let go whatever is held."""
        for hold in filter(None, (self._first, self._second, self._end)):
            hold.release()

    def _wait(self, hold: Hold, who: str) -> int:
        process = hold.wait(HELD_WITHIN_S)
        assert process is not None, f"{self._name}: {who} did not come within {HELD_WITHIN_S} s"
        return process.pid


def _strikes(thread_id: str, point: KillPoint) -> Strikes:
    return at(thread_id, point.step, point.stage)
