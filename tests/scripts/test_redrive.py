"""Putting back what was given up, on the emulator's queues."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from runtime.adapters.aws.sqs import SqsInputQueue
from runtime.adapters.clock import SystemClock
from runtime.ports import RawRecord
from runtime.wire.messages import parse_message
from scripts.commands.redrive import DeadLetter, Options, redrive
from scripts.commands.target import Target
from tests.support.clients import create_fifo_queue, redrive_policy, sqs_client
from tests.support.world import World

PUT_BACK = Options(dry_run=False, delete_malformed=False, limit=100)


@dataclass
class Queues:
    """An input queue that gives up after one receive, and its dead-letter queue."""

    sqs: Any
    input_url: str
    dead_letter_url: str

    @property
    def target(self) -> Target:
        return Target(self.sqs, {"InputQueueUrl": self.input_url, "InputDeadLetterQueueUrl": self.dead_letter_url})

    def give_up(self, *bodies: str, group_id: str = "t") -> list[str]:
        """Send messages and let them die; return their SQS ids."""
        ids = []
        for number, body in enumerate(bodies):
            sent = self.sqs.send_message(
                QueueUrl=self.input_url, MessageBody=body, MessageGroupId=group_id, MessageDeduplicationId=f"{number}"
            )
            ids.append(sent["MessageId"])
        for _ in range(2):
            self.sqs.receive_message(QueueUrl=self.input_url, MaxNumberOfMessages=10, VisibilityTimeout=0)
        return ids

    def arrived(self) -> list[RawRecord]:
        answer = self.sqs.receive_message(
            QueueUrl=self.input_url, MaxNumberOfMessages=10, AttributeNames=["All"], VisibilityTimeout=30
        )
        return [
            RawRecord(one["MessageId"], one["ReceiptHandle"], one["Attributes"]["MessageGroupId"], one["Body"], 1, 0, 0)
            for one in answer.get("Messages", [])
        ]


@pytest.fixture
def queues(aws_endpoint: str) -> Queues:
    sqs = sqs_client(aws_endpoint)
    dead_letter_url = create_fifo_queue(sqs, visibility_s=30)
    input_url = create_fifo_queue(sqs, visibility_s=30, redrive_policy=redrive_policy(sqs, dead_letter_url, 1))
    return Queues(sqs, input_url, dead_letter_url)


def body(text: str, **fields: str) -> str:
    return json.dumps({"group_id": "t", "content": {"type": "text", "text": text}, **fields})


def identity(record: RawRecord) -> str:
    return parse_message(record, World().ports.keyring).key.message_id


def test_a_message_without_an_id_comes_back_under_the_one_it_had(queues: Queues) -> None:
    (first_id,) = queues.give_up(body("hello"))
    assert [fate for _, fate in redrive(queues.target, PUT_BACK)] == ["put back"]
    (record,) = queues.arrived()
    assert record.record_id != first_id
    assert identity(record) == f"user:{first_id}"


def test_a_message_with_an_id_of_its_own_keeps_it_to_the_letter(queues: Queues) -> None:
    given = body("hello", message_id="mine")
    queues.give_up(given)
    list(redrive(queues.target, PUT_BACK))
    (record,) = queues.arrived()
    assert (record.body, identity(record)) == (given, "user:mine")


def test_messages_of_a_thread_come_back_in_their_order(queues: Queues) -> None:
    queues.give_up(*(body(str(number)) for number in range(5)))
    list(redrive(queues.target, PUT_BACK))
    assert [json.loads(record.body)["content"]["text"] for record in queues.arrived()] == ["0", "1", "2", "3", "4"]


def test_a_run_that_died_before_it_deleted_is_repeated_without_harm(queues: Queues) -> None:
    queues.give_up(body("hello"))
    run = redrive(queues.target, Options(dry_run=True, delete_malformed=False, limit=100))
    (letter,) = [letter for letter, _ in run]
    queues.sqs.send_message(
        QueueUrl=queues.input_url,
        MessageBody=letter.body_with_identity,
        MessageGroupId="t",
        MessageDeduplicationId=letter.deduplication_id,
    )
    list(redrive(queues.target, PUT_BACK))
    assert len(queues.arrived()) == 1


def test_a_large_body_does_not_grow_too_large_by_its_id(queues: Queues) -> None:
    given = json.dumps({"group_id": "t", "content": {"type": "text", "text": "\u4e2d" * 340_000}}, ensure_ascii=False)
    queues.give_up(given)
    assert [fate for _, fate in redrive(queues.target, PUT_BACK)] == ["put back"]
    assert len(queues.arrived()) == 1


def test_what_cannot_be_sent_stays_with_all_behind_it_and_other_threads_go_on(queues: Queues) -> None:
    full = body("x" * (1_048_576 - len(body(""))))
    queues.give_up(full, body("behind"))
    queues.give_up(json.dumps({"group_id": "u", "content": {"type": "text", "text": "hi"}}), group_id="u")
    fates = {(letter.thread_id, fate) for letter, fate in redrive(queues.target, PUT_BACK)}
    assert fates == {("t", "left: cannot be sent"), ("u", "put back")}


def test_a_dry_run_moves_nothing(queues: Queues) -> None:
    queues.give_up(body("hello"))
    dry = Options(dry_run=True, delete_malformed=True, limit=100)
    assert [fate for _, fate in redrive(queues.target, dry)] == ["would be put back"]
    assert queues.arrived() == []
    assert [fate for _, fate in redrive(queues.target, PUT_BACK)] == ["put back"]


def test_what_nobody_can_read_stays_until_it_is_deleted_on_purpose(queues: Queues) -> None:
    input_queue = SqsInputQueue(queues.sqs, queues.input_url, queues.dead_letter_url, SystemClock())
    input_queue.park(RawRecord("r1", "h1", "t", "{nonsense", 1, 0, 0), "body is not JSON")
    ((letter, fate),) = redrive(queues.target, PUT_BACK)
    assert (fate, letter.reason) == ("left: malformed", "body is not JSON")
    delete = Options(dry_run=False, delete_malformed=True, limit=100)
    assert [fate for _, fate in redrive(queues.target, delete)] == ["deleted: malformed"]
    assert list(redrive(queues.target, PUT_BACK)) == []


@pytest.mark.parametrize(
    ("given", "own_id"),
    [(body("hello", message_id="mine"), "mine"), (body("hello"), ""), ("{nonsense", ""), ("[1]", "")],
    ids=["own id", "none", "not JSON", "no object"],
)
def test_the_id_that_a_sender_gave_is_shown(given: str, own_id: str) -> None:
    assert DeadLetter("m1", "h1", "t", given, None).own_id == own_id
