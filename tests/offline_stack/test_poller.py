"""The poller against the emulator: real queues, real functions in worker processes."""

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from scripts.offline_stack.emulator import client_settings
from scripts.offline_stack.journal import Journal
from scripts.offline_stack.poller import BACK_AFTER_FAILURE_S, Poller, find_event_source
from scripts.offline_stack.supervisor import StackError
from tests.offline_stack.function_code import zipped

if TYPE_CHECKING:
    from types_boto3_lambda import LambdaClient
    from types_boto3_sqs import SQSClient

PATIENCE_S = 15

# The function under test does what the first word of a body says, and writes down every record it sees.
FUNCTION = """
import json, os, time

def handler(event, context):
    failures = []
    for record in event["Records"]:
        with open(os.environ["SEEN"], "a") as seen:
            seen.write(json.dumps({"at": time.time(), **record}) + "\\n")
        first_time = record["attributes"]["ApproximateReceiveCount"] == "1"
        word = record["body"].split()[0]
        if word == "die" and first_time:
            os.kill(os.getpid(), 9)
        if word == "raise" and first_time:
            raise RuntimeError("asked to")
        if word == "linger":
            time.sleep(1)
        if word == "fail":
            failures.append({"itemIdentifier": record["messageId"]})
        with open(os.environ["SEEN"], "a") as seen:
            seen.write(json.dumps({"ended": time.time(), **record}) + "\\n")
    return {"batchItemFailures": failures}
"""


@dataclass(frozen=True, slots=True)
class Source:
    """A function behind a queue of its own, and everything it has seen."""

    function: str
    queue_url: str
    sqs: "SQSClient"
    functions: "LambdaClient"
    seen_path: Path
    journal_path: Path

    def send(self, group: str, *bodies: str) -> None:
        for body in bodies:
            self.sqs.send_message(
                QueueUrl=self.queue_url,
                MessageBody=body,
                MessageGroupId=group,
                MessageDeduplicationId=uuid.uuid4().hex,
            )

    def seen(self, kind: str = "at") -> list[dict[str, Any]]:
        return [line for line in _lines(self.seen_path) if kind in line]

    def bodies(self) -> list[str]:
        return [record["body"] for record in self.seen()]

    def settled(self) -> list[dict[str, Any]]:
        return [line for line in _lines(self.journal_path) if line["what"] == "batch settled"]

    def in_flight(self) -> int:
        answer = self.sqs.get_queue_attributes(QueueUrl=self.queue_url, AttributeNames=["All"])
        return int(answer["Attributes"]["ApproximateNumberOfMessagesNotVisible"])

    def remaining(self) -> int:
        answer = self.sqs.get_queue_attributes(QueueUrl=self.queue_url, AttributeNames=["All"])
        return self.in_flight() + int(answer["Attributes"]["ApproximateNumberOfMessages"])


@pytest.fixture
def source(aws_endpoint: str, tmp_path: Path) -> Source:
    settings = client_settings(aws_endpoint)
    sqs, functions = boto3.client("sqs", **settings), boto3.client("lambda", **settings)
    name = f"f{uuid.uuid4().hex}"
    url = sqs.create_queue(QueueName=f"{name}.fifo", Attributes={"FifoQueue": "true", "VisibilityTimeout": "30"})[
        "QueueUrl"
    ]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    functions.create_function(
        FunctionName=name,
        Runtime="python3.13",
        Role="arn:aws:iam::000000000000:role/any",
        Handler="told.handler",
        Code={"ZipFile": zipped("told.py", FUNCTION)},
        Timeout=20,
        Environment={"Variables": {"SEEN": str(tmp_path / "seen.jsonl")}},
    )
    functions.create_event_source_mapping(
        FunctionName=name,
        EventSourceArn=arn,
        BatchSize=10,
        Enabled=False,
        FunctionResponseTypes=["ReportBatchItemFailures"],
    )
    return Source(name, url, sqs, functions, tmp_path / "seen.jsonl", tmp_path / "deliveries.jsonl")


@pytest.fixture
def polled(source: Source) -> Iterator[Source]:
    with polling(source):
        yield source


@contextmanager
def polling(source: Source) -> Iterator[None]:
    event_source = find_event_source(source.functions, source.sqs, source.function, most_concurrent=4)
    poller = Poller(event_source, source.sqs, source.functions, Journal(source.journal_path))
    thread = threading.Thread(target=poller.run)
    thread.start()
    try:
        yield
    finally:
        poller.stop()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


def test_handled_messages_are_deleted_and_were_seen_with_all_their_attributes(polled: Source) -> None:
    polled.send("thread", "hello")

    _until(lambda: polled.seen("ended") and polled.remaining() == 0)
    (record,) = polled.seen()
    assert record["body"] == "hello"
    assert record["eventSource"] == "aws:sqs"
    assert record["attributes"].keys() >= {
        "MessageGroupId",
        "MessageDeduplicationId",
        "SequenceNumber",
        "SentTimestamp",
        "ApproximateReceiveCount",
        "ApproximateFirstReceiveTimestamp",
    }


def test_the_messages_of_a_group_are_handled_one_batch_after_the_other_in_order(polled: Source) -> None:
    polled.send("thread", *(f"linger {number}" for number in range(4)))

    _until(lambda: len(polled.seen("ended")) == 4)
    assert polled.bodies() == [f"linger {number}" for number in range(4)]
    starts = [record["at"] for record in polled.seen()]
    ends = [record["ended"] for record in polled.seen("ended")]
    assert all(start >= end for start, end in zip(starts[1:], ends, strict=False))


def test_groups_are_handled_side_by_side(source: Source) -> None:
    (mapping,) = source.functions.list_event_source_mappings(FunctionName=source.function)["EventSourceMappings"]
    source.functions.update_event_source_mapping(UUID=mapping["UUID"], BatchSize=1)
    for group in ("a", "b", "c"):
        source.send(group, f"linger {group}")

    with polling(source):
        _until(lambda: len(source.seen("ended")) == 3)

    last_start = max(record["at"] for record in source.seen())
    first_end = min(record["ended"] for record in source.seen("ended"))
    assert last_start < first_end


def test_a_reported_message_keeps_its_visibility_and_the_others_are_deleted(polled: Source) -> None:
    polled.send("a", "hello")
    polled.send("b", "fail")

    _until(lambda: len(polled.seen("ended")) == 2 and polled.remaining() == 1)
    time.sleep(BACK_AFTER_FAILURE_S + 0.5)
    assert polled.in_flight() == 1
    assert sorted(polled.bodies()) == ["fail", "hello"]


@pytest.mark.parametrize("end", ["die", "raise"])
def test_after_a_killed_or_raising_function_the_messages_come_back_in_order_within_seconds(
    polled: Source, end: str
) -> None:
    polled.send("thread", f"{end} at once", "behind it")

    _until(lambda: "behind it" in polled.bodies() and polled.remaining() == 0)
    again = [record for record in polled.seen() if record["attributes"]["ApproximateReceiveCount"] == "2"]
    assert again[0]["body"] == f"{end} at once"
    assert 0.9 < again[0]["at"] - polled.seen()[0]["at"] < 10
    assert polled.settled()[0]["outcome"] == "failed"


def test_the_journal_names_the_messages_and_groups_of_every_batch(polled: Source) -> None:
    polled.send("thread", "hello")

    _until(polled.settled)
    (settled,) = polled.settled()
    assert settled["groups"] == ["thread"]
    assert settled["handled"] == settled["message_ids"] == [polled.seen()[0]["messageId"]]
    assert settled["duration_s"] > 0


def test_a_function_without_a_mapping_cannot_be_polled_for(source: Source) -> None:
    (mapping,) = source.functions.list_event_source_mappings(FunctionName=source.function)["EventSourceMappings"]
    source.functions.delete_event_source_mapping(UUID=mapping["UUID"])

    with pytest.raises(StackError, match="exactly one is needed"):
        find_event_source(source.functions, source.sqs, source.function, most_concurrent=4)


def _until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
