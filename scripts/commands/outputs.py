"""Reads what some conversations say on the output queue, and leaves everybody else's messages there.

The queue is FIFO with one group per root thread, and SQS cannot be asked for a group: a reader gets what lies in front.
A sweep therefore holds what belongs to others until it has found what it wants or seen the queue's end, and then
releases it. Delivery is at least once: an output whose id is known is dropped.
"""

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scripts.commands.messages import JsonObject

if TYPE_CHECKING:
    from types_boto3_sqs.client import SQSClient
    from types_boto3_sqs.type_defs import MessageTypeDef

ERRORS_BESIDE_A_TURN = frozenset({"tool_refused", "choice_not_handed_over"})
# A queue that nobody else reads may hold the outputs of weeks. A sweep that ended before what it wants would never
# find it: the next one begins in front again.
SWEEP_S = 10
# Long enough for one sweep; what a killed reader held comes back after it.
HOLD_S = 15


@dataclass(frozen=True, slots=True)
class Output:
    """One message of the output queue. `seq` orders a thread; it is None where no history stands behind it.

    `sent_at` is when the queue took it, in epoch seconds.
    """

    id: str
    type: str
    thread_id: str
    root_thread_id: str
    seq: int | None
    fields: JsonObject
    sent_at: float

    @property
    def is_of_child(self) -> bool:
        return self.thread_id != self.root_thread_id

    @property
    def ends_turn_badly(self) -> bool:
        """Whether it is an error after which nothing more comes of what the thread was told."""
        is_final = self.type == "error" and not self.fields.get("retrying")
        return is_final and self.text_of("code") not in ERRORS_BESIDE_A_TURN

    def text_of(self, name: str) -> str:
        value = self.fields.get(name, "")
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_output(body: str, sent_at: float) -> Output:
    """Read a message body of the output queue. Raises: ValueError or KeyError for what is none."""
    fields = json.loads(body)
    return Output(
        id=fields["id"],
        type=fields["type"],
        thread_id=fields["thread_id"],
        root_thread_id=fields["root_thread_id"],
        seq=fields["seq"],
        fields=fields,
        sent_at=sent_at,
    )


class OutputOrder:
    """Puts the outputs of one conversation into the order in which a front end shows them."""

    def __init__(self) -> None:
        self._known_ids: set[str] = set()

    def arrange(self, arrived: Iterable[Output]) -> list[Output]:
        """Drop what is known; order the rest by `seq` within a thread, by arrival otherwise.

        An output without `seq` stays behind the one of its thread after which it arrived.
        """
        fresh: list[Output] = []
        for output in arrived:
            if output.id not in self._known_ids:
                self._known_ids.add(output.id)
                fresh.append(output)
        return _in_order_within_threads(fresh)


def _in_order_within_threads(outputs: Sequence[Output]) -> list[Output]:
    rank: dict[str, int] = {}
    last_seq: dict[str, int] = {}
    for output in outputs:
        last_seq[output.thread_id] = output.seq if output.seq is not None else last_seq.get(output.thread_id, -1)
        rank[output.id] = last_seq[output.thread_id]
    ordered = {
        thread_id: iter(sorted((o for o in outputs if o.thread_id == thread_id), key=lambda o: rank[o.id]))
        for thread_id in {output.thread_id for output in outputs}
    }
    return [next(ordered[output.thread_id]) for output in outputs]


class OutputReader:
    """Takes the outputs of these root threads off the queue. Several readers may share the work of the same ones.

    `wait_s` is how long SQS may hold a read until anything comes; without it a read does not wait.
    """

    def __init__(self, sqs: "SQSClient", output_queue_url: str, *root_thread_ids: str, wait_s: int = 0) -> None:
        self._sqs = sqs
        self._queue_url = output_queue_url
        self._root_thread_ids = frozenset(root_thread_ids)
        self._wait_s = wait_s
        self._order = OutputOrder()

    def read(self) -> list[Output]:
        """Take what lies there for these conversations, in order; empty when there is nothing.

        Taken messages are deleted.
        """
        ours, others = self._sweep()
        self._release(others)
        fresh = self._order.arrange(_output_of(message) for message in ours)
        self._delete(ours)
        return fresh

    def _sweep(self) -> "tuple[list[MessageTypeDef], list[MessageTypeDef]]":
        ours: list[MessageTypeDef] = []
        others: list[MessageTypeDef] = []
        wait_s, end = self._wait_s, time.monotonic() + self._wait_s + SWEEP_S
        while time.monotonic() < end:
            batch = self._sqs.receive_message(
                QueueUrl=self._queue_url,
                MaxNumberOfMessages=10,
                VisibilityTimeout=HOLD_S,
                WaitTimeSeconds=wait_s,
                MessageSystemAttributeNames=["MessageGroupId", "SentTimestamp"],
            ).get("Messages", [])
            for message in batch:
                mine = message["Attributes"]["MessageGroupId"] in self._root_thread_ids
                (ours if mine else others).append(message)
            if not batch or ours:
                break
            wait_s = 0
        return ours, others

    def _release(self, messages: "Sequence[MessageTypeDef]") -> None:
        for batch in _batches(messages):
            self._sqs.change_message_visibility_batch(
                QueueUrl=self._queue_url,
                Entries=[
                    {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 0}
                    for index, message in enumerate(batch)
                ],
            )

    def _delete(self, messages: "Sequence[MessageTypeDef]") -> None:
        for batch in _batches(messages):
            self._sqs.delete_message_batch(
                QueueUrl=self._queue_url,
                Entries=[
                    {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]} for index, message in enumerate(batch)
                ],
            )


def _output_of(message: "MessageTypeDef") -> Output:
    return read_output(message["Body"], sent_at=int(message["Attributes"]["SentTimestamp"]) / 1000)


def _batches(messages: "Sequence[MessageTypeDef]") -> "list[Sequence[MessageTypeDef]]":
    # SQS batch limit, 10 entries.
    return [messages[start : start + 10] for start in range(0, len(messages), 10)]
