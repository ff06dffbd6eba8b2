"""Requests are named after the step of a slice that they are."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from scripts.offline_stack.interposers.exchanges import describe
from scripts.offline_stack.interposers.interventions import Exchange

RECEIPT = {"pk": {"S": "thread#t1"}, "sk": {"S": "receipt#text#user:1"}}
TOOLSET = {"pk": {"S": "toolsets#t1"}, "sk": {"S": "server#example"}}
OUTPUT = {"id": "o1", "type": "text", "root_thread_id": "t1", "text": "hi"}


def described(path: str, target: str = "", body: Mapping[str, Any] | None = None) -> Exchange:
    headers = {"x-amz-target": target, "idempotency-key": "k1"}
    return describe(path, headers, json.dumps(body).encode() if body else b"")


def sent(message: Mapping[str, Any]) -> dict[str, Any]:
    return {"Entries": [{"Id": "0", "MessageBody": json.dumps(message), "MessageGroupId": "t1"}]}


@pytest.mark.parametrize(
    ("exchange", "what", "threads"),
    [
        (described("/model/any/converse-stream"), "complete", ()),
        (described("/_aws/lambda-url/x/.well-known/rap-toolset"), "fetch manifest", ()),
        (described("/x/call", body={"operation": "run", "id": "c1", "group_id": "t1"}), "call tool", ("t1",)),
        (described("/x/close_thread", body={"thread_id": "t1"}), "close_thread", ()),
        (
            described("/", "AmazonSQS.SendMessage", {"MessageBody": json.dumps({"due_ms": 1, "group_id": "t1"})}),
            "start timer",
            ("t1",),
        ),
        (
            described("/", "DynamoDB_20120810.BatchGetItem", {"RequestItems": {"table": {"Keys": [RECEIPT]}}}),
            "read receipts",
            ("t1",),
        ),
        (
            described(
                "/", "DynamoDB_20120810.BatchWriteItem", {"RequestItems": {"t": [{"PutRequest": {"Item": RECEIPT}}]}}
            ),
            "write receipts",
            ("t1",),
        ),
        (
            described(
                "/", "DynamoDB_20120810.BatchWriteItem", {"RequestItems": {"t": [{"PutRequest": {"Item": TOOLSET}}]}}
            ),
            "keep manifests",
            (),
        ),
        (described("/", "DynamoDB_20120810.PutItem", {"Item": RECEIPT}), "mark", ("t1",)),
        (described("/", "DynamoDB_20120810.DeleteItem", {"Key": RECEIPT}), "clear mark", ("t1",)),
        (described("/", "DynamoDB_20120810.UpdateItem", {"Key": RECEIPT}), "close choice", ("t1",)),
        (described("/x/return/eyJ9", body={"id": "c1", "selected": 1}), "tell choice", ()),
        (described("/", "DynamoDB_20120810.Query", {"TableName": "t"}), "read manifests", ()),
        (described("/", "AmazonSQS.SendMessageBatch", sent(OUTPUT)), "send outputs", ("t1",)),
        (described("/", "AmazonSQS.SendMessageBatch", sent({"group_id": "t1"})), "send messages", ("t1",)),
        (described("/", "AmazonSQS.ChangeMessageVisibilityBatch", {"Entries": []}), "ChangeMessageVisibilityBatch", ()),
        (described("/health"), "health", ()),
    ],
)
def test_a_request_is_named_after_what_it_does_and_for_which_thread(
    exchange: Exchange, what: str, threads: tuple[str, ...]
) -> None:
    assert (exchange.what, tuple(exchange.threads)) == (what, threads)


def test_a_call_of_a_tool_shows_its_key_and_the_id_of_the_call() -> None:
    assert described("/x/call", body={"operation": "run", "id": "c1"}).facts == {"key": "k1", "call_id": "c1"}


def test_a_choice_that_a_tool_is_told_of_shows_its_key_and_the_id_of_the_call() -> None:
    assert described("/x/return/eyJ9", body={"id": "c1", "selected": 1}).facts == {"key": "k1", "call_id": "c1"}


def test_a_mark_names_what_is_about_to_be_tried() -> None:
    item = {**RECEIPT, "subject": {"S": "message:text:user:m1"}}
    assert described("/", "DynamoDB_20120810.PutItem", {"Item": item}).facts == {"subject": "message:text:user:m1"}


def test_an_output_is_known_by_a_fingerprint_that_changes_with_its_body() -> None:
    first, same, other = (
        described("/", "AmazonSQS.SendMessageBatch", sent(body)).facts["outputs"]
        for body in (OUTPUT, dict(reversed(OUTPUT.items())), {**OUTPUT, "text": "ho"})
    )
    assert first == same
    assert isinstance(first, dict)
    assert isinstance(other, dict)
    assert list(first) == ["o1"] == list(other)
    assert first != other


def test_a_body_that_is_no_json_is_passed_by_its_path() -> None:
    assert describe("/upload", {}, b"\xff\xfe").what == "upload"
