"""What the adapter of SQS makes of a batch that succeeded in part, and of a queue that does not answer."""

from dataclasses import dataclass

import pytest
from botocore.exceptions import ReadTimeoutError

from runtime.adapters.aws.sqs import MESSAGE_LIMIT_BYTES, SqsInputQueue, SqsQueues
from runtime.adapters.memory.clock import ManualClock
from runtime.errors import Misconfigured, Unavailable
from runtime.ports import RawRecord
from tests.support.aws_wire import Answer, Wire, error
from tests.support.clients import sqs_client
from tests.support.samples import keyring, output, wake

URL = "https://sqs.us-east-1.amazonaws.com/000000000000/some.fifo"


@dataclass(frozen=True, slots=True)
class Sent:
    """Adapters whose requests go nowhere: every one is answered by the test."""

    queues: SqsQueues
    input_queue: SqsInputQueue
    wire: Wire

    def ids_by_request(self) -> list[list[str]]:
        return [[entry["MessageDeduplicationId"] for entry in body["Entries"]] for body in self.wire.bodies]


@pytest.fixture
def sent() -> Sent:
    # Nothing listens there: a request that the test does not answer fails at once.
    client = sqs_client("http://127.0.0.1:9")
    clock = ManualClock()
    return Sent(SqsQueues(client, URL, URL, keyring(), clock), SqsInputQueue(client, URL, URL, clock), Wire(client))


def taken(count: int, *failed: int, sender_fault: bool = False) -> Answer:
    """Return SQS's answer to a batch of `count`, of which these failed."""
    return Answer(
        200,
        {
            "Successful": [
                {"Id": str(index), "MessageId": f"m{index}", "MD5OfMessageBody": ""}
                for index in range(count)
                if index not in failed
            ],
            "Failed": [
                {"Id": str(index), "Code": "InternalError", "SenderFault": sender_fault, "Message": "words"}
                for index in failed
            ],
        },
    )


def test_what_failed_of_a_batch_is_sent_again_in_order_before_anything_that_follows(sent: Sent) -> None:
    sent.wire.answer_next(taken(10, 3, 7), taken(2, 1), taken(1), taken(2))

    sent.queues.send_outputs([output(f"id-{number}") for number in range(12)])

    assert sent.ids_by_request()[1:] == [["id-3", "id-7"], ["id-7"], ["id-10", "id-11"]]


def test_a_batch_that_keeps_failing_in_part_is_an_error_and_nothing_behind_it_is_sent(sent: Sent) -> None:
    sent.wire.answer_next(taken(10, 3), taken(1, 0), taken(1, 0), taken(1), taken(2))

    with pytest.raises(Unavailable):
        sent.queues.send_outputs([output(f"id-{number}") for number in range(12)])

    assert all("id-11" not in ids for ids in sent.ids_by_request())


def test_a_message_that_is_refused_is_not_sent_again(sent: Sent) -> None:
    sent.wire.answer_next(taken(1, 0, sender_fault=True))

    with pytest.raises(Misconfigured):
        sent.queues.send_inputs([wake()])

    assert len(sent.wire.operations) == 1


def test_a_repeat_after_a_lost_answer_carries_the_same_deduplication_id(sent: Sent) -> None:
    sent.wire.answer_next(ReadTimeoutError(endpoint_url=URL), taken(1))

    sent.queues.send_inputs([wake()])

    first, second = sent.ids_by_request()
    assert first == second


def test_a_queue_that_does_not_answer_is_unavailable(sent: Sent) -> None:
    sent.wire.answer_next(*[ReadTimeoutError(endpoint_url=URL)] * 3)

    with pytest.raises(Unavailable):
        sent.queues.send_inputs([wake()])


@pytest.mark.parametrize("code", ["AccessDenied", "QueueDoesNotExist", "KmsAccessDenied"])
def test_a_queue_that_is_not_ours_to_use_is_for_a_person_to_look_at(sent: Sent, code: str) -> None:
    sent.wire.answer_next(error(400, code))

    with pytest.raises(Misconfigured):
        sent.queues.send_inputs([wake()])


def test_the_same_visibility_is_given_to_all_and_asked_again_only_where_the_queue_failed(sent: Sent) -> None:
    sent.wire.answer_next(taken(3, 1), taken(1))

    sent.input_queue.postpone(["h0", "h1", "h2"], 40)

    asked = [
        [(entry["ReceiptHandle"], entry["VisibilityTimeout"]) for entry in body["Entries"]] for body in sent.wire.bodies
    ]
    assert asked == [[("h0", 40), ("h1", 40), ("h2", 40)], [("h1", 40)]]


def test_a_handle_that_is_no_longer_ours_is_not_asked_for_again(sent: Sent) -> None:
    sent.wire.answer_next(taken(2, 0, sender_fault=True))

    sent.input_queue.postpone(["h0", "h1"], 40)

    assert len(sent.wire.operations) == 1


def test_a_visibility_that_cannot_be_changed_is_an_error(sent: Sent) -> None:
    sent.wire.answer_next(taken(1, 0), taken(1, 0), taken(1, 0))

    with pytest.raises(Unavailable):
        sent.input_queue.postpone(["h0"], 40)


@pytest.mark.parametrize(("room_bytes", "is_told"), [(len("reason" + "String" + "late"), True), (15, False)])
def test_a_parked_body_carries_its_reason_where_both_fit_into_a_message(
    sent: Sent, room_bytes: int, is_told: bool
) -> None:
    body = "x" * (MESSAGE_LIMIT_BYTES - room_bytes)
    sent.wire.answer_next(Answer(200, {"MessageId": "m1"}))

    sent.input_queue.park(RawRecord("r1", "h1", "A", body, 1, 0, 0), "late")

    assert bool(sent.wire.bodies[0].get("MessageAttributes")) is is_told
