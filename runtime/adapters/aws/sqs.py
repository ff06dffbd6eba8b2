"""The input and output queues on SQS FIFO queues."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.adapters.aws.errors import translated
from runtime.errors import Misconfigured, Unavailable
from runtime.identity import digest
from runtime.model.messages import Message
from runtime.model.outputs import Output
from runtime.ports import Clock, Keyring, RawRecord
from runtime.wire.messages import message_body, message_deduplication_id
from runtime.wire.outputs import output_body

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient
    from types_boto3_sqs.type_defs import (
        BatchResultErrorEntryTypeDef,
        MessageAttributeValueTypeDef,
        SendMessageBatchRequestEntryTypeDef,
    )

# API reference of SendMessageBatch and ChangeMessageVisibilityBatch.
BATCH_LIMIT = 10
BATCH_LIMIT_BYTES = MESSAGE_LIMIT_BYTES = 1_048_576
_TRIES = 3
_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message for a FIFO queue, or, with a delay instead of the two ids, for a standard queue."""

    body: str
    group_id: str | None = None
    deduplication_id: str | None = None
    delay_s: int = 0


class SqsQueues:
    """Safe to share between threads, as boto3's clients are."""

    def __init__(self, client: "SQSClient", input_url: str, output_url: str, keyring: Keyring, clock: Clock) -> None:
        self._client = client
        self._input_url = input_url
        self._output_url = output_url
        self._keyring = keyring
        self._clock = clock

    def send_inputs(self, messages: Sequence[Message]) -> None:
        if not messages:
            return
        key = self._keyring.signing(self._clock.now_ms())
        self._send(
            self._input_url,
            [Outgoing(message_body(one, key), one.thread_id, message_deduplication_id(one)) for one in messages],
        )

    def send_outputs(self, outputs: Sequence[Output]) -> None:
        self._send(self._output_url, [Outgoing(output_body(one), one.root_id, one.output_id) for one in outputs])

    def _send(self, url: str, entries: Sequence[Outgoing]) -> None:
        """Send in this order. A chunk waits for all of the one before, and what failed is sent again before it.

        SQS takes or refuses each entry of a batch by itself, so within one batch a later one of a group can overtake
        a failed one. Readers of outputs order by `seq`; no input of ours depends on one sent with it.
        """
        for chunk in chunks(entries):
            self._send_chunk(url, chunk)

    def _send_chunk(self, url: str, chunk: Sequence[Outgoing]) -> None:
        rest = chunk
        for attempt in range(_TRIES):
            if attempt:
                self._clock.sleep(_PAUSE_S * 2**attempt * (0.5 + self._clock.chance() / 2))
            failed = send_batch(self._client, url, rest)
            if not failed:
                return
            _refuse_our_own_fault(failed.values())
            rest = [rest[index] for index in sorted(failed)]
        raise Unavailable("SQS did not take all messages of a batch")


class SqsInputQueue:
    def __init__(self, client: "SQSClient", input_url: str, dead_letter_url: str, clock: Clock) -> None:
        self._client = client
        self._input_url = input_url
        self._dead_letter_url = dead_letter_url
        self._clock = clock

    def postpone(self, handles: Sequence[str], visibility_s: int) -> None:
        for start in range(0, len(handles), BATCH_LIMIT):
            self._postpone(handles[start : start + BATCH_LIMIT], visibility_s)

    def park(self, record: RawRecord, reason: str) -> None:
        # The reason counts towards the limit of a message, and a body may fill it alone.
        size_bytes = sum(len(part.encode()) for part in (record.body, reason, "reason", "String"))
        attributes: dict[str, MessageAttributeValueTypeDef] = {"reason": {"DataType": "String", "StringValue": reason}}
        with translated():
            self._client.send_message(
                QueueUrl=self._dead_letter_url,
                MessageBody=record.body,
                MessageGroupId=record.group_id,
                MessageDeduplicationId=digest("park", record.record_id, length=64),
                MessageAttributes=attributes if size_bytes <= MESSAGE_LIMIT_BYTES else {},
            )

    def _postpone(self, handles: Sequence[str], visibility_s: int) -> None:
        rest = handles
        for attempt in range(_TRIES):
            if attempt:
                self._clock.sleep(_PAUSE_S * 2**attempt)
            rest = self._try_to_postpone(rest, visibility_s)
            if not rest:
                return
        raise Unavailable("SQS did not change the visibility of all messages of a batch")

    def _try_to_postpone(self, handles: Sequence[str], visibility_s: int) -> list[str]:
        """Return the handles to try again: a fault of the sender is a handle that is no longer ours."""
        with translated():
            answer = self._client.change_message_visibility_batch(
                QueueUrl=self._input_url,
                Entries=[
                    {"Id": str(index), "ReceiptHandle": handle, "VisibilityTimeout": visibility_s}
                    for index, handle in enumerate(handles)
                ],
            )
        return [handles[int(entry["Id"])] for entry in answer.get("Failed", ()) if not entry["SenderFault"]]


def send_batch(client: "SQSClient", url: str, entries: Sequence[Outgoing]) -> "dict[int, BatchResultErrorEntryTypeDef]":
    """Send at most ten messages at once; return what was not taken, by its place in `entries`.

    Raises:
        RetryableError: the whole request failed, or nobody knows.
    """
    with translated():
        answer = client.send_message_batch(
            QueueUrl=url, Entries=[_wire_entry(index, entry) for index, entry in enumerate(entries)]
        )
    return {int(failed["Id"]): failed for failed in answer.get("Failed", ())}


def _wire_entry(index: int, entry: Outgoing) -> "SendMessageBatchRequestEntryTypeDef":
    wired: SendMessageBatchRequestEntryTypeDef = {"Id": str(index), "MessageBody": entry.body}
    if entry.group_id is not None and entry.deduplication_id is not None:
        wired["MessageGroupId"] = entry.group_id
        wired["MessageDeduplicationId"] = entry.deduplication_id
    else:
        # A FIFO queue refuses any delay of a single message.
        wired["DelaySeconds"] = entry.delay_s
    return wired


def chunks(entries: Iterable[Outgoing]) -> Iterator[list[Outgoing]]:
    """Give the entries in their order, in chunks that one request may carry."""
    chunk: list[Outgoing] = []
    room_bytes = BATCH_LIMIT_BYTES
    for entry in entries:
        size_bytes = len(entry.body.encode())
        if chunk and (len(chunk) == BATCH_LIMIT or size_bytes > room_bytes):
            yield chunk
            chunk, room_bytes = [], BATCH_LIMIT_BYTES
        chunk.append(entry)
        room_bytes -= size_bytes
    if chunk:
        yield chunk


def _refuse_our_own_fault(failed: "Iterable[BatchResultErrorEntryTypeDef]") -> None:
    for entry in failed:
        if entry["SenderFault"]:
            raise Misconfigured(f"SQS refused a message with {entry['Code']}")
