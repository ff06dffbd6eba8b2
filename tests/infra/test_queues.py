"""The queues: what a message is promised from the moment it is sent."""

from tests.infra.conftest import SynthesizeWith
from tests.infra.synthesized import Stack, points_to

DAY_S = 86_400
EVERY_FIFO = ("InputQueueUrl", "InputDeadLetterQueueUrl", "OutputQueueUrl")


def test_fifo_queues_serve_threads_side_by_side_and_never_guess_what_is_a_duplicate(either: Stack) -> None:
    for output in EVERY_FIFO:
        queue = either.queue(output)
        assert queue["FifoQueue"] is True
        assert queue["DeduplicationScope"] == "messageGroup"
        assert queue["FifoThroughputLimit"] == "perMessageGroupId"
        assert queue["ContentBasedDeduplication"] is False


def test_no_queue_anywhere_has_content_based_deduplication(either: Stack) -> None:
    for queue in either.resources("AWS::SQS::Queue").values():
        assert queue["Properties"].get("ContentBasedDeduplication", False) is False


def test_an_input_message_stays_hidden_longer_than_a_slice_may_run(either: Stack) -> None:
    _, function = either.function("slice")

    assert function["Properties"]["Timeout"] == 300
    assert either.queue("InputQueueUrl")["VisibilityTimeout"] == 330


def test_an_input_message_is_received_twenty_times_before_it_is_put_aside(either: Stack) -> None:
    redrive = either.queue("InputQueueUrl")["RedrivePolicy"]

    assert redrive["maxReceiveCount"] == 20
    assert points_to(redrive["deadLetterTargetArn"], either.outputs["InputDeadLetterQueueUrl"]["Ref"])


def test_messages_are_kept_for_fourteen_days_in_every_queue(either: Stack) -> None:
    for queue in either.resources("AWS::SQS::Queue").values():
        assert queue["Properties"]["MessageRetentionPeriod"] == 14 * DAY_S


def test_outputs_are_kept_for_a_time_of_their_own(synthesize_with: SynthesizeWith) -> None:
    stack = synthesize_with({"output_retention_days": 2})

    assert stack.queue("OutputQueueUrl")["MessageRetentionPeriod"] == 2 * DAY_S
    assert stack.queue("InputQueueUrl")["MessageRetentionPeriod"] == 14 * DAY_S


def test_timers_wait_on_a_standard_queue_because_a_fifo_queue_takes_no_delay(either: Stack) -> None:
    queue = either.queue("TimerQueueUrl")
    dead_letters = either.queue("TimerDeadLetterQueueUrl")

    assert "FifoQueue" not in queue
    assert "FifoQueue" not in dead_letters
    assert points_to(queue["RedrivePolicy"]["deadLetterTargetArn"], either.outputs["TimerDeadLetterQueueUrl"]["Ref"])


def test_the_schedulers_dead_letters_go_to_a_standard_queue(either: Stack) -> None:
    assert "FifoQueue" not in either.one("AWS::SQS::Queue", "ScheduleFailures")["Properties"]


def test_a_queues_dead_letter_queue_is_of_its_own_kind(either: Stack) -> None:
    queues = either.resources("AWS::SQS::Queue")

    for queue in queues.values():
        redrive = queue["Properties"].get("RedrivePolicy")
        if redrive is not None:
            target = queues[redrive["deadLetterTargetArn"]["Fn::GetAtt"][0]]
            assert target["Properties"].get("FifoQueue") == queue["Properties"].get("FifoQueue")


def test_every_queue_is_encrypted_and_refuses_plain_http(either: Stack) -> None:
    policies = either.resources("AWS::SQS::QueuePolicy").values()
    guarded = {policy["Properties"]["Queues"][0]["Ref"] for policy in policies if _refuses_plain_http(policy)}

    assert guarded == set(either.resources("AWS::SQS::Queue"))
    for queue in either.resources("AWS::SQS::Queue").values():
        assert queue["Properties"]["SqsManagedSseEnabled"] is True


def _refuses_plain_http(policy: dict[str, object]) -> bool:
    properties = policy["Properties"]
    assert isinstance(properties, dict)
    return any(
        statement["Effect"] == "Deny" and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        for statement in properties["PolicyDocument"]["Statement"]
    )
