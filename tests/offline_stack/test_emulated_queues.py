"""What the project leans on in the emulator's queues, so that a newer emulator that differs is found out here."""

import json
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.exceptions import ClientError

from scripts.offline_stack.emulator import client_settings

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient
    from types_boto3_sqs.type_defs import MessageTypeDef


@dataclass(frozen=True, slots=True)
class Fifo:
    """A queue with the attributes of the deployed input queue."""

    sqs: "SQSClient"
    url: str

    def send(self, group: str, *bodies: str, deduplication_id: str | None = None) -> None:
        for body in bodies:
            self.sqs.send_message(
                QueueUrl=self.url,
                MessageBody=body,
                MessageGroupId=group,
                MessageDeduplicationId=deduplication_id or uuid.uuid4().hex,
            )

    def receive(self, most: int = 10) -> "Sequence[MessageTypeDef]":
        answer = self.sqs.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=most, MessageSystemAttributeNames=["All"]
        )
        return answer.get("Messages", [])

    def delete(self, message: "MessageTypeDef") -> None:
        self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])

    def show_again(self, message: "MessageTypeDef", after_s: int = 0) -> None:
        self.sqs.change_message_visibility(
            QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=after_s
        )


@pytest.fixture
def sqs(aws_endpoint: str) -> "SQSClient":
    return boto3.client("sqs", **client_settings(aws_endpoint))


@pytest.fixture
def queue(sqs: "SQSClient") -> Fifo:
    return fifo(sqs)


def fifo(sqs: "SQSClient", **attributes: str) -> Fifo:
    made = sqs.create_queue(
        QueueName=f"{uuid.uuid4().hex}.fifo",
        Attributes={
            "FifoQueue": "true",
            "VisibilityTimeout": "30",
            "DeduplicationScope": "messageGroup",
            "FifoThroughputLimit": "perMessageGroupId",
            **attributes,  # type: ignore[dict-item]
        },
    )
    return Fifo(sqs, made["QueueUrl"])


def bodies(messages: "Sequence[MessageTypeDef]") -> list[str]:
    return [message["Body"] for message in messages]


def test_while_a_message_of_a_group_is_in_flight_only_other_groups_are_given_out(queue: Fifo) -> None:
    queue.send("a", "a1", "a2")
    queue.send("b", "b1")

    first = queue.receive(most=1)

    assert bodies(first) == ["a1"]
    assert bodies(queue.receive()) == ["b1"]
    queue.delete(first[0])
    assert bodies(queue.receive()) == ["a2"]


def test_a_group_stays_locked_until_every_message_of_its_batch_is_deleted(queue: Fifo) -> None:
    queue.send("a", "a1", "a2", "a3")

    one, two = queue.receive(most=2)
    queue.delete(one)

    assert bodies(queue.receive()) == []
    queue.delete(two)
    assert bodies(queue.receive()) == ["a3"]


def test_messages_that_are_shown_again_come_in_their_old_order_with_a_higher_count(queue: Fifo) -> None:
    queue.send("a", "a1", "a2", "a3")

    for message in reversed(queue.receive()):
        queue.show_again(message)
    again = queue.receive()

    assert bodies(again) == ["a1", "a2", "a3"]
    assert {message["Attributes"]["ApproximateReceiveCount"] for message in again} == {"2"}


def test_a_message_behind_one_that_is_still_hidden_is_not_given_out(queue: Fifo) -> None:
    queue.send("a", "a1", "a2")

    _, two = queue.receive()
    queue.show_again(two)

    assert bodies(queue.receive()) == []


def test_a_message_whose_time_ran_out_comes_again_and_its_old_handle_deletes_nothing(queue: Fifo) -> None:
    queue.send("a", "a1")
    late = queue.receive()[0]
    queue.show_again(late, after_s=1)
    time.sleep(1.1)

    again = queue.receive()
    with suppress(ClientError):  # SQS may refuse a handle that is too old, or ignore it
        queue.delete(late)
    queue.show_again(again[0])

    assert bodies(again) == ["a1"]
    assert bodies(queue.receive()) == ["a1"]


def test_a_repeated_deduplication_id_is_swallowed_also_after_the_first_copy_was_deleted(queue: Fifo) -> None:
    queue.send("a", "first", deduplication_id="same")
    queue.delete(queue.receive()[0])

    queue.send("a", "second", deduplication_id="same")

    assert bodies(queue.receive()) == []


def test_two_groups_may_use_the_same_deduplication_id(queue: Fifo) -> None:
    queue.send("a", "to a", deduplication_id="same")
    queue.send("b", "to b", deduplication_id="same")

    assert sorted(bodies(queue.receive())) == ["to a", "to b"]


def test_a_message_without_a_deduplication_id_is_refused(queue: Fifo) -> None:
    with pytest.raises(ClientError, match="MessageDeduplicationId"):
        queue.sqs.send_message(QueueUrl=queue.url, MessageBody="x", MessageGroupId="a")


def test_a_delay_for_one_message_is_refused_by_a_fifo_queue(queue: Fifo) -> None:
    with pytest.raises(ClientError, match="DelaySeconds"):
        queue.sqs.send_message(
            QueueUrl=queue.url, MessageBody="x", MessageGroupId="a", MessageDeduplicationId="d", DelaySeconds=5
        )


def test_a_message_that_was_received_too_often_moves_to_the_dead_letters_and_frees_its_group(
    sqs: "SQSClient",
) -> None:
    dead = fifo(sqs)
    arn = sqs.get_queue_attributes(QueueUrl=dead.url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    queue = fifo(sqs, RedrivePolicy=json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2}))
    queue.send("a", "poison", "behind it")

    for _ in range(2):
        queue.show_again(queue.receive(most=1)[0])

    assert bodies(queue.receive()) == ["behind it"]
    (parked,) = dead.receive()
    assert (parked["Body"], parked["Attributes"]["MessageGroupId"]) == ("poison", "a")


def test_a_standard_queue_keeps_a_message_back_for_its_delay(sqs: "SQSClient") -> None:
    url = sqs.create_queue(QueueName=uuid.uuid4().hex)["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="timer", DelaySeconds=1)

    early = sqs.receive_message(QueueUrl=url).get("Messages", [])
    time.sleep(1.1)

    assert early == []
    assert bodies(sqs.receive_message(QueueUrl=url).get("Messages", [])) == ["timer"]


def test_a_body_of_one_mebibyte_is_taken_and_one_byte_more_is_refused(queue: Fifo) -> None:
    queue.send("a", "x" * 1_048_576)

    with pytest.raises(ClientError):
        queue.send("a", "x" * 1_048_577)
