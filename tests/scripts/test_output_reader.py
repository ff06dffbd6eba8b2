"""The reader of the output queue against a queue: it takes what is its own and leaves the rest."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
import pytest
from moto import mock_aws

from scripts.commands.outputs import OutputReader

if TYPE_CHECKING:
    from types_boto3_sqs.client import SQSClient
    from types_boto3_sqs.type_defs import SendMessageBatchRequestEntryTypeDef


@pytest.fixture
def sqs() -> "Iterator[SQSClient]":
    with mock_aws():
        yield boto3.client("sqs", region_name="eu-west-1", aws_access_key_id="testing", aws_secret_access_key="testing")


@pytest.fixture
def queue_url(sqs: "SQSClient") -> str:
    return sqs.create_queue(QueueName="outputs.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]


def put(sqs: "SQSClient", queue_url: str, root: str, name: str, seq: int) -> None:
    body = {"id": name, "type": "text", "thread_id": root, "root_thread_id": root, "seq": seq, "text": name}
    sqs.send_message(QueueUrl=queue_url, MessageBody=json.dumps(body), MessageGroupId=root, MessageDeduplicationId=name)


def test_only_the_outputs_of_the_own_conversation_are_taken(sqs: "SQSClient", queue_url: str) -> None:
    put(sqs, queue_url, "other", "theirs", 16)
    put(sqs, queue_url, "mine", "first", 16)
    put(sqs, queue_url, "mine", "second", 32)

    assert [each.id for each in OutputReader(sqs, queue_url, "mine").read()] == ["first", "second"]
    assert [each.id for each in OutputReader(sqs, queue_url, "other").read()] == ["theirs"]


def test_the_outputs_of_several_conversations_are_taken_by_one_reader(sqs: "SQSClient", queue_url: str) -> None:
    put(sqs, queue_url, "mine", "first", 16)
    put(sqs, queue_url, "other", "theirs", 16)
    put(sqs, queue_url, "mine-too", "second", 16)
    reader = OutputReader(sqs, queue_url, "mine", "mine-too")

    assert {each.id for _ in range(2) for each in reader.read()} == {"first", "second"}
    assert [each.id for each in OutputReader(sqs, queue_url, "other").read()] == ["theirs"]


def test_outputs_behind_many_of_other_conversations_are_found(sqs: "SQSClient", queue_url: str) -> None:
    for batch in range(21):
        names = [f"other-{batch}-{number}" for number in range(10)]
        entries: list[SendMessageBatchRequestEntryTypeDef] = [
            {"Id": name, "MessageBody": "{}", "MessageGroupId": name, "MessageDeduplicationId": name} for name in names
        ]
        sqs.send_message_batch(QueueUrl=queue_url, Entries=entries)
    put(sqs, queue_url, "mine", "first", 16)

    assert [each.id for each in OutputReader(sqs, queue_url, "mine").read()] == ["first"]


def test_what_was_taken_is_gone_and_an_empty_queue_gives_nothing(sqs: "SQSClient", queue_url: str) -> None:
    put(sqs, queue_url, "mine", "first", 16)
    OutputReader(sqs, queue_url, "mine").read()

    assert OutputReader(sqs, queue_url, "mine").read() == []
