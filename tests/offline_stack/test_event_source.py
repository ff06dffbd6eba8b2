import json

import pytest
from aws_lambda_powertools.utilities.parser.models import SqsModel

from scripts.offline_stack.event_source import Invocation, lambda_event, settle

ARN = "arn:aws:sqs:eu-central-1:123456789012:input.fifo"
BATCH = ["m1", "m2", "m3"]


def answer(*failed: object) -> Invocation:
    return Invocation(json.dumps({"batchItemFailures": [{"itemIdentifier": name} for name in failed]}))


@pytest.mark.parametrize("text", ["", "null", "{}", '{"batchItemFailures": null}', '{"batchItemFailures": []}'])
def test_an_answer_without_failures_means_that_every_message_is_handled(text: str) -> None:
    settlement = settle(BATCH, Invocation(text), reports_failures=True)

    assert (settlement.outcome, settlement.handled, settlement.failed) == ("handled", ("m1", "m2", "m3"), ())


def test_only_the_reported_messages_are_left_in_the_queue() -> None:
    settlement = settle(BATCH, answer("m3", "m2"), reports_failures=True)

    assert (settlement.outcome, settlement.handled, settlement.failed) == ("partly failed", ("m1",), ("m2", "m3"))


def test_a_batch_whose_every_message_is_reported_is_not_a_complete_failure() -> None:
    assert settle(BATCH, answer(*BATCH), reports_failures=True).outcome == "partly failed"


@pytest.mark.parametrize(
    "text",
    [
        '{"batchItemFailures": [{"itemIdentifier": ""}]}',
        '{"batchItemFailures": [{"itemIdentifier": null}]}',
        '{"batchItemFailures": [{"itemIdentifier": "somebody else\'s"}]}',
        '{"batchItemFailures": [{"ItemIdentifier": "m1"}]}',
        '{"batchItemFailures": ["m1"]}',
        '{"batchItemFailures": "m1"}',
        "[1]",
        "not JSON",
    ],
)
def test_an_answer_that_cannot_be_trusted_fails_the_whole_batch(text: str) -> None:
    settlement = settle(BATCH, Invocation(text), reports_failures=True)

    assert (settlement.outcome, settlement.handled, settlement.failed) == ("failed", (), ("m1", "m2", "m3"))
    assert settlement.reason


def test_a_function_that_failed_fails_the_whole_batch_whatever_it_answered() -> None:
    settlement = settle(BATCH, Invocation("{}", error="Task timed out"), reports_failures=True)

    assert (settlement.outcome, settlement.failed) == ("failed", ("m1", "m2", "m3"))


def test_a_mapping_without_partial_failures_takes_any_answer_for_success() -> None:
    assert settle(BATCH, answer("m1"), reports_failures=False).handled == ("m1", "m2", "m3")


def test_a_record_has_all_that_lambda_shows_of_a_message() -> None:
    message = {
        "MessageId": "059f36b4-87a3-44ab-83d2-661975830a7d",
        "ReceiptHandle": "handle",
        "Body": "text",
        "MD5OfBody": "1cb251ec0d568de6a929b520c4aed8d1",
        "MD5OfMessageAttributes": "00484c68ef3c6d1b5b1a0e3e4e8d8d5c",
        "Attributes": {
            "ApproximateReceiveCount": "2",
            "SentTimestamp": "1545082649183",
            "SequenceNumber": "18849496460467696128",
            "MessageGroupId": "thread",
            "SenderId": "AIDAIENQZJOLO23YVJ4VO",
            "MessageDeduplicationId": "once",
            "ApproximateFirstReceiveTimestamp": "1545082649185",
        },
        "MessageAttributes": {
            "reason": {"DataType": "String", "StringValue": "because"},
            "raw": {"DataType": "Binary", "BinaryValue": b"\x00\x01"},
        },
    }

    event = lambda_event([message], ARN)

    record = SqsModel.model_validate(event).Records[0]
    assert record.attributes.MessageGroupId == "thread"
    assert event["Records"][0] == {
        "messageId": "059f36b4-87a3-44ab-83d2-661975830a7d",
        "receiptHandle": "handle",
        "body": "text",
        "md5OfBody": "1cb251ec0d568de6a929b520c4aed8d1",
        "md5OfMessageAttributes": "00484c68ef3c6d1b5b1a0e3e4e8d8d5c",
        "attributes": message["Attributes"],
        "messageAttributes": {
            "reason": {
                "dataType": "String",
                "stringValue": "because",
                "stringListValues": [],
                "binaryListValues": [],
            },
            "raw": {"dataType": "Binary", "binaryValue": "AAE=", "stringListValues": [], "binaryListValues": []},
        },
        "eventSource": "aws:sqs",
        "eventSourceARN": ARN,
        "awsRegion": "eu-central-1",
    }
