"""What the words of `scripts/load_test` ask for, and what it refuses before anything is sent."""

import argparse
from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from scripts.commands.target import Target, TargetError
from scripts.load_testing.command import main, plans_of
from scripts.load_testing.plan import PlanError
from scripts.load_testing.sites import require_room


def asked(**words: object) -> argparse.Namespace:
    return argparse.Namespace(
        **({"threads": None, "ramp": None, "messages": 5, "rate": None, "interrupts": False, "patience": 9} | words)
    )


def test_without_further_words_twenty_threads_say_five_messages_each() -> None:
    (plan,) = plans_of(asked())
    assert (plan.threads, plan.messages, plan.rate_per_s, plan.interrupts) == (20, 5, None, False)


def test_a_ramp_is_one_run_for_each_number_of_threads_and_each_has_threads_of_its_own() -> None:
    plans = plans_of(asked(ramp="1,3,9", messages=2, rate=4.0))
    assert [(plan.threads, plan.messages, plan.rate_per_s) for plan in plans] == [(1, 2, 4), (3, 2, 4), (9, 2, 4)]
    assert len({thread_id for plan in plans for thread_id in plan.thread_ids}) == 13


@pytest.mark.parametrize("ramp", ["", "1,x", "4,2", "2,2", ",".join(map(str, range(1, 12))), "0,1", "1,1001"])
def test_a_ramp_that_does_not_rise_within_bounds_is_refused(ramp: str) -> None:
    with pytest.raises(PlanError):
        plans_of(asked(ramp=ramp))


@pytest.mark.parametrize(
    "words", ["--threads 0", "--threads 1001", "--messages 101", "--patience 0", "--rate 5 --interrupts"]
)
def test_bad_numbers_end_the_command_before_any_deployment_is_looked_for(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    assert "error: " in capsys.readouterr().err


@pytest.fixture
def target() -> Iterator[Target]:
    with mock_aws():
        sqs = boto3.client("sqs", region_name="eu-west-1", aws_access_key_id="testing", aws_secret_access_key="testing")
        url = sqs.create_queue(QueueName="outputs.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
        for name in ("one", "two"):
            sqs.send_message(QueueUrl=url, MessageBody="{}", MessageGroupId=name, MessageDeduplicationId=name)
        yield Target(sqs, {"OutputQueueUrl": url})


def test_too_many_outputs_of_others_are_in_the_way_also_while_somebody_holds_them(target: Target) -> None:
    require_room(target, 2, "read them")
    target.sqs.receive_message(QueueUrl=target.output_queue_url)
    with pytest.raises(TargetError, match=r"2 outputs of others .* read them"):
        require_room(target, 1, "read them")
