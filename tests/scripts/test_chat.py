"""What `scripts/chat --text` makes of the outputs that come."""

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from rich.console import Console

from scripts.commands.chat import converse, follow_turn
from scripts.commands.outputs import OutputReader
from scripts.commands.rendering import Screen
from scripts.commands.target import Target, TargetError, deployed_target, require_queues

if TYPE_CHECKING:
    from types_boto3_sqs.client import SQSClient


@pytest.fixture
def sqs() -> "Iterator[SQSClient]":
    with mock_aws():
        yield boto3.client("sqs", region_name="eu-west-1", aws_access_key_id="testing", aws_secret_access_key="testing")


@pytest.fixture
def queue_url(sqs: "SQSClient") -> str:
    return sqs.create_queue(QueueName="outputs.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]


def put(
    sqs: "SQSClient", queue_url: str, output_type: str, thread_id: str = "t", **fields: str | bool | list[str]
) -> None:
    name = f"{output_type}-{thread_id}"
    known = {"id": name, "type": output_type, "thread_id": thread_id, "root_thread_id": "t", "seq": None}
    sqs.send_message(
        QueueUrl=queue_url,
        MessageBody=json.dumps(known | fields),
        MessageGroupId="t",
        MessageDeduplicationId=name,
    )


def follow(sqs: "SQSClient", queue_url: str, wait_s: float, log: Path | None = None) -> tuple[bool, str]:
    shown = io.StringIO()
    is_done = follow_turn(OutputReader(sqs, queue_url, "t"), Screen(Console(file=shown, width=200)), wait_s, log)
    return is_done, shown.getvalue()


def test_an_error_that_is_not_tried_again_ends_the_waiting(sqs: "SQSClient", queue_url: str) -> None:
    put(sqs, queue_url, "error", code="model_refused", message="no", retrying=False)
    is_done, shown = follow(sqs, queue_url, wait_s=60)
    assert (is_done, shown) == (False, "error  model_refused: no\n")


def test_an_error_that_is_tried_again_or_is_a_childs_is_only_shown(sqs: "SQSClient", queue_url: str) -> None:
    put(sqs, queue_url, "error", code="model_throttled", message="busy", retrying=True)
    put(sqs, queue_url, "error", thread_id="t.child", code="model_refused", message="no", retrying=False)
    put(sqs, queue_url, "turn_done")
    is_done, shown = follow(sqs, queue_url, wait_s=60)
    assert is_done
    assert "trying again" in shown


def test_an_error_beside_the_turn_does_not_end_the_waiting(sqs: "SQSClient", queue_url: str) -> None:
    put(sqs, queue_url, "error", code="tool_refused", message="shop: its manifest could not be fetched", retrying=False)
    put(sqs, queue_url, "turn_done")
    assert follow(sqs, queue_url, wait_s=60)[0]


def test_who_is_asked_something_is_told_how_to_answer(sqs: "SQSClient", queue_url: str) -> None:
    put(sqs, queue_url, "user_choice_required", thread_id="t.child", choice_id="c1", prompt="Tea?", choices=["Yes"])
    put(sqs, queue_url, "user_choice_required", choice_id="c2", prompt="Tea?", choices=["Yes"])
    is_done, shown = follow(sqs, queue_url, wait_s=60)
    assert is_done
    assert shown.endswith("scripts/enqueue --thread t --choice c2 --select NUMBER\n")


def test_who_is_to_sign_in_is_told_where_the_conversation_goes_on(sqs: "SQSClient", queue_url: str) -> None:
    put(sqs, queue_url, "oauth_required", auth_url="https://login.example.com/")
    is_done, shown = follow(sqs, queue_url, wait_s=60)
    assert is_done
    assert shown.endswith("scripts/chat --thread t\n")


def test_whoever_waits_in_vain_is_told_where_to_look(sqs: "SQSClient", queue_url: str) -> None:
    is_done, shown = follow(sqs, queue_url, wait_s=0, log=Path(".offline/log/functions.log"))
    assert (is_done, shown) == (False, "no turn was done within 0 s; see .offline/log/functions.log\n")


def test_a_conversation_whose_outputs_cannot_be_read_ends_with_the_reason(sqs: "SQSClient", queue_url: str) -> None:
    reader, screen = OutputReader(sqs, queue_url + "-gone", "t"), Screen(Console(file=io.StringIO()))
    to_be_read, written = os.pipe()  # nobody types
    with os.fdopen(to_be_read) as keyboard, os.fdopen(written, "w"), pytest.raises(ClientError, match="NonExistent"):
        converse(Target(sqs, {}), "t", reader, screen, keyboard.readline)


@pytest.fixture
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("REGION", "DEFAULT_REGION", "PROFILE", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    for name in ("CONFIG_FILE", "SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(f"AWS_{name}", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    before = boto3.DEFAULT_SESSION
    yield
    boto3.DEFAULT_SESSION = before  # in place of the one that was made in the test


@pytest.mark.usefixtures("nothing_configured")
def test_without_a_region_the_way_to_the_stack_on_this_machine_is_named() -> None:
    with pytest.raises(TargetError, match=r"a region.*AWS_REGION.*--offline"):
        deployed_target("Infinity")


@pytest.mark.usefixtures("nothing_configured")
def test_the_region_is_taken_from_where_the_cli_and_the_cdk_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    with pytest.raises(TargetError, match=r"credentials.*AWS_PROFILE.*--offline"):
        deployed_target("Infinity")


def test_a_stack_of_somebody_else_is_not_talked_to() -> None:
    with pytest.raises(TargetError, match="'Theirs' is no agent runtime"):
        require_queues("Theirs", {"BucketName": "theirs"})
    require_queues("Ours", {"InputQueueUrl": "in", "OutputQueueUrl": "out", "ReceiverUrl": "receiver"})
