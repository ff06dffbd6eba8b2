"""What goes wrong between a queue and its function: deliveries that are lost, given up, or come again."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scripts.offline_stack.event_source import lambda_event
from tests.offline.outside import Outside

SLICE_POLLER = "slice-poller"
RECEIVES = 30  # more than the queue allows
A_MOMENT_S = 0.2  # for a receive that is on its way when the poller stops


@contextmanager
def nobody_polls(outside: Outside, poller: str = SLICE_POLLER) -> Iterator[None]:
    """Have what is sent to the queue of this poller, the input queue, stay there for as long as the block runs."""
    outside.settle()
    process = outside.stack.status()[poller]
    assert process is not None
    os.kill(process.identity.pid, signal.SIGSTOP)
    try:
        time.sleep(A_MOMENT_S)
        yield
    finally:
        os.kill(process.identity.pid, signal.SIGCONT)


def deliver_once(outside: Outside) -> None:
    """Deliver what lies in the input queue to the function, and lose the news that it was handled."""
    url = outside.target.input_queue_url
    sqs, functions = outside.target.sqs, outside.stack.client("lambda")
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    event = lambda_event(_receive_all(outside), arn)
    function = outside.stack.outputs["SliceFunctionName"]
    answer = functions.invoke(FunctionName=function, Payload=json.dumps(event).encode())
    assert json.load(answer["Payload"]) == {"batchItemFailures": []}


def give_up(outside: Outside) -> None:
    """Receive what lies in the input queue until SQS gives it up, and so moves it to the dead letters."""
    for _ in range(RECEIVES):
        if not _receive_all(outside):
            return
    raise AssertionError(f"messages are still in the input queue after {RECEIVES} receives")


def _receive_all(outside: Outside) -> list[dict[str, Any]]:
    answer = outside.target.sqs.receive_message(
        QueueUrl=outside.target.input_queue_url,
        MaxNumberOfMessages=10,
        VisibilityTimeout=0,
        MessageSystemAttributeNames=["All"],
        MessageAttributeNames=["All"],
    )
    return [dict(message) for message in answer.get("Messages", [])]


def forget(outside: Outside, thread_id: str, *kinds: str) -> int:
    """Delete what the deployed table holds of these kinds for a thread, as if it had expired; return how much."""
    table, dynamodb = outside.stack.outputs["StateTableName"], outside.stack.client("dynamodb")
    items = dynamodb.query(
        TableName=table,
        KeyConditionExpression="pk = :thread",
        ExpressionAttributeValues={":thread": {"S": f"thread#{thread_id}"}},
    )["Items"]
    found = [item for item in items if item["sk"]["S"].partition("#")[0] in kinds]
    for item in found:
        dynamodb.delete_item(TableName=table, Key={"pk": item["pk"], "sk": item["sk"]})
    return len(found)
