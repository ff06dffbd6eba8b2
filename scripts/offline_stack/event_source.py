"""What Lambda's event source mapping for SQS decides: the event a batch becomes, and what its answer means.

Nothing here calls anything. Source of the rules: Lambda developer guide, "Using Lambda with Amazon SQS", "Handling
errors for an SQS event source", and the event examples there.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

# A message as boto3 hands it out and the event as JSON: both are open-ended by nature; hence Any.
Message = Mapping[str, Any]
Outcome = Literal["handled", "partly failed", "failed"]


@dataclass(frozen=True, slots=True)
class Invocation:
    """How an invocation ended. `error` is None when the function returned; then `answer` is what it returned."""

    answer: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Settlement:
    """What becomes of a batch's messages, by message id, in the order of the batch.

    `handled` are deleted. `failed` keep the visibility they have: the function may have set it itself. Only after a
    complete failure (`outcome` is "failed") are all of them made visible again by the poller.
    """

    outcome: Outcome
    handled: Sequence[str]
    failed: Sequence[str]
    reason: str | None = None


def lambda_event(messages: Sequence[Message], queue_arn: str) -> dict[str, Any]:
    """Make the event of one batch, with every attribute that a function gets to see on AWS."""
    region = queue_arn.split(":")[3]
    return {"Records": [_record(message, queue_arn, region) for message in messages]}


def settle(message_ids: Sequence[str], invocation: Invocation, *, reports_failures: bool) -> Settlement:
    """Read what an invocation means for the messages of its batch.

    `reports_failures` is the mapping's ReportBatchItemFailures: without it a function that returns has handled all.
    An answer that cannot be trusted (not JSON, a wrong key, an empty or an unknown identifier) fails the whole batch.
    """
    if invocation.error is not None:
        return _all_failed(message_ids, invocation.error)
    if not reports_failures:
        return Settlement("handled", tuple(message_ids), ())
    try:
        reported = _reported_failures(invocation.answer)
    except ValueError as error:
        return _all_failed(message_ids, str(error))
    unknown = reported.difference(message_ids)
    if unknown:
        return _all_failed(message_ids, f"the answer names messages that are not in the batch: {sorted(unknown)}")
    failed = tuple(message_id for message_id in message_ids if message_id in reported)
    handled = tuple(message_id for message_id in message_ids if message_id not in reported)
    return Settlement("partly failed" if failed else "handled", handled, failed)


def _record(message: Message, queue_arn: str, region: str) -> dict[str, Any]:
    record = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {name: _attribute(value) for name, value in message.get("MessageAttributes", {}).items()},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": region,
    }
    if "MD5OfMessageAttributes" in message:
        record["md5OfMessageAttributes"] = message["MD5OfMessageAttributes"]
    return record


def _attribute(value: Mapping[str, Any]) -> dict[str, Any]:
    attribute: dict[str, Any] = {"stringListValues": [], "binaryListValues": [], "dataType": value["DataType"]}
    if "StringValue" in value:
        attribute["stringValue"] = value["StringValue"]
    if "BinaryValue" in value:
        attribute["binaryValue"] = base64.b64encode(value["BinaryValue"]).decode()
    return attribute


def _reported_failures(answer: str) -> set[str]:
    """Read the failed identifiers; an empty, null or missing list reports none.

    Raises:
        ValueError: Lambda would treat this answer as the failure of the whole batch.
    """
    try:
        decoded = json.loads(answer) if answer else None
    except json.JSONDecodeError as error:
        raise ValueError("the answer is not JSON") from error
    match decoded:
        case None | {"batchItemFailures": None}:
            return set()
        case {"batchItemFailures": list(items)}:
            return {_identifier(item) for item in items}
        case dict() if "batchItemFailures" not in decoded:
            return set()
        case _:
            raise ValueError("the answer is no object with a list of batchItemFailures")


def _identifier(item: object) -> str:
    identifier = item.get("itemIdentifier") if isinstance(item, dict) else None
    if not isinstance(identifier, str) or not identifier:
        raise ValueError(f"no itemIdentifier in {item!r}")
    return identifier


def _all_failed(message_ids: Sequence[str], reason: str) -> Settlement:
    return Settlement("failed", (), tuple(message_ids), reason)
