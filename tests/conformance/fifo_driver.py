"""The same few acts on a FIFO queue, whether it is ours in memory or one of SQS."""

import time
from dataclasses import dataclass
from typing import Protocol

from botocore.exceptions import ClientError
from types_boto3_sqs import SQSClient

from runtime.adapters.aws.errors import code_of
from runtime.adapters.memory.clock import ManualClock
from runtime.adapters.memory.fifo import FifoQueue, Received, Redrive
from runtime.adapters.memory.fifo_limits import Sending
from runtime.errors import Misconfigured
from runtime.ports import RawRecord
from tests.support.clients import create_fifo_queue, redrive_policy

# What SQS says, depending on its protocol, of a handle that was given out again or has expired.
STALE_HANDLE_CODES = frozenset({"InvalidParameterValue", "MessageNotInflight", "ReceiptHandleIsInvalid"})


class Refused(Exception):
    """The queue did not take it."""


class FifoDriver(Protocol):
    def send(self, sending: Sending) -> str: ...

    def receive(self, limit: int = 10) -> list[Received]: ...

    def delete(self, handle: str) -> None: ...

    def change_visibility(self, handle: str, visibility_s: int) -> None: ...

    def now_ms(self) -> int: ...

    def wait(self, seconds: float) -> None: ...


class MemoryFifo:
    def __init__(self, clock: ManualClock, visibility_s: int, redrive: Redrive | None = None) -> None:
        self._clock = clock
        self.queue = FifoQueue(clock, visibility_s=visibility_s, redrive=redrive)

    def send(self, sending: Sending) -> str:
        try:
            return self.queue.send(sending)
        except Misconfigured as error:
            raise Refused from error

    def receive(self, limit: int = 10) -> list[Received]:
        return self.queue.receive(limit)

    def delete(self, handle: str) -> None:
        self.queue.delete(handle)

    def change_visibility(self, handle: str, visibility_s: int) -> None:
        self.queue.change_visibility(handle, visibility_s)

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def wait(self, seconds: float) -> None:
        self._clock.advance(seconds)


class SqsFifo:
    def __init__(self, client: SQSClient, url: str) -> None:
        self._client = client
        self.url = url

    def send(self, sending: Sending) -> str:
        delay = {"DelaySeconds": sending.delay_s} if sending.delay_s else {}
        try:
            answer = self._client.send_message(
                QueueUrl=self.url,
                MessageBody=sending.body,
                MessageGroupId=sending.group_id,
                MessageDeduplicationId=sending.deduplication_id,
                MessageAttributes={
                    name: {"DataType": "String", "StringValue": value} for name, value in sending.attributes.items()
                },
                **delay,  # type: ignore[arg-type]
            )
        except ClientError as error:
            raise Refused from error
        return answer["MessageId"]

    def receive(self, limit: int = 10) -> list[Received]:
        answer = self._client.receive_message(
            QueueUrl=self.url,
            MaxNumberOfMessages=limit,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        return [
            Received(
                RawRecord(
                    record_id=found["MessageId"],
                    handle=found["ReceiptHandle"],
                    group_id=found["Attributes"]["MessageGroupId"],
                    body=found["Body"],
                    receive_count=int(found["Attributes"]["ApproximateReceiveCount"]),
                    sent_ms=int(found["Attributes"]["SentTimestamp"]),
                    first_received_ms=int(found["Attributes"]["ApproximateFirstReceiveTimestamp"]),
                ),
                {name: given.get("StringValue", "") for name, given in found.get("MessageAttributes", {}).items()},
            )
            for found in answer.get("Messages", ())
        ]

    def delete(self, handle: str) -> None:
        try:
            self._client.delete_message(QueueUrl=self.url, ReceiptHandle=handle)
        except ClientError as error:
            if code_of(error) not in STALE_HANDLE_CODES:
                raise

    def change_visibility(self, handle: str, visibility_s: int) -> None:
        try:
            self._client.change_message_visibility(
                QueueUrl=self.url, ReceiptHandle=handle, VisibilityTimeout=visibility_s
            )
        except ClientError as error:
            if code_of(error) not in STALE_HANDLE_CODES:
                raise

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass(frozen=True, slots=True)
class QueueWithDeadLetters:
    queue: FifoDriver
    dead_letters: FifoDriver


class FifoFactory(Protocol):
    """Makes empty queues of one kind."""

    def queue(self, visibility_s: int = 30) -> FifoDriver: ...

    def with_dead_letters(self, visibility_s: int, max_receives: int) -> QueueWithDeadLetters: ...


class MemoryFifoFactory:
    def __init__(self) -> None:
        self._clock = ManualClock()

    def queue(self, visibility_s: int = 30) -> MemoryFifo:
        return MemoryFifo(self._clock, visibility_s)

    def with_dead_letters(self, visibility_s: int, max_receives: int) -> QueueWithDeadLetters:
        dead_letters = self.queue()
        redrive = Redrive(dead_letters.queue, max_receives)
        return QueueWithDeadLetters(MemoryFifo(self._clock, visibility_s, redrive), dead_letters)


class SqsFifoFactory:
    def __init__(self, client: SQSClient) -> None:
        self._client = client

    def queue(self, visibility_s: int = 30) -> SqsFifo:
        return SqsFifo(self._client, create_fifo_queue(self._client, visibility_s))

    def with_dead_letters(self, visibility_s: int, max_receives: int) -> QueueWithDeadLetters:
        dead_letters = self.queue()
        policy = redrive_policy(self._client, dead_letters.url, max_receives)
        url = create_fifo_queue(self._client, visibility_s, policy)
        return QueueWithDeadLetters(SqsFifo(self._client, url), dead_letters)
