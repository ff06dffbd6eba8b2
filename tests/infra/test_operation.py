"""What people see of a deployment: outputs, alarms, and the exceptions to the rules it is checked against."""

import subprocess
import sys
from pathlib import Path

import pytest
from aws_lambda_powertools import Metrics

import handlers.receiver
import handlers.slice
from infra.app import build
from infra.exceptions import exceptions
from infra.packages import PROJECT
from infra.report import main
from infra.stack import InfinityStack
from runtime.errors import Misconfigured
from tests.infra.conftest import SynthesizeWith
from tests.infra.synthesized import CLOUD, OFFLINE, Stack, points_to

OUTPUTS = {
    "InputQueueUrl",
    "OutputQueueUrl",
    "TimerQueueUrl",
    "InputDeadLetterQueueUrl",
    "TimerDeadLetterQueueUrl",
    "StateTableName",
    "PayloadBucketName",
    "ReceiverUrl",
    "ExampleToolsetUrl",
    "SliceFunctionName",
    "ReceiverFunctionName",
    "TimerRelayFunctionName",
    "ExampleToolsetFunctionName",
    "MigrateFunctionName",
    "TokenSecretArn",
    "DatabaseEndpoint",
}
# How CloudFormation calls physical names.
NAMES = {"Name", "QueueName", "TableName", "BucketName", "RoleName", "LogGroupName", "LayerName", "AlarmName"}
# The local emulator refuses these; a deployment must be the same template everywhere.
REFUSED_LOCALLY = ("AWS::CloudWatch::CompositeAlarm", "AWS::IAM::AccessKey")


def test_the_outputs_are_what_the_commands_look_for(either: Stack) -> None:
    assert set(either.outputs) == OUTPUTS


def test_each_output_is_about_what_its_name_says(either: Stack) -> None:
    functions = {
        "SliceFunctionName": "slice",
        "ReceiverFunctionName": "receiver",
        "TimerRelayFunctionName": "timer_relay",
        "MigrateFunctionName": "migrate",
        "ExampleToolsetFunctionName": "example_toolset",
    }
    environment = either.environment("slice")

    for output, handler in functions.items():
        assert either.outputs[output] == {"Ref": either.function(handler)[0]}
    assert either.outputs["InputQueueUrl"] == environment["INFINITY_INPUT_QUEUE_URL"]
    assert either.outputs["OutputQueueUrl"] == environment["INFINITY_OUTPUT_QUEUE_URL"]
    assert either.outputs["TimerQueueUrl"] == environment["INFINITY_TIMER_QUEUE_URL"]
    assert either.outputs["InputDeadLetterQueueUrl"] == environment["INFINITY_DEAD_LETTER_QUEUE_URL"]
    assert either.outputs["StateTableName"] == environment["INFINITY_STATE_TABLE"]
    assert either.outputs["PayloadBucketName"] == environment["INFINITY_PAYLOAD_BUCKET"]


def test_only_the_schedule_group_has_a_name_of_our_choice_since_names_stand_in_the_way_of_replacement(
    either: Stack,
) -> None:
    named = {
        resource["Type"]
        for resource in either.template["Resources"].values()
        if NAMES & resource.get("Properties", {}).keys()
    }

    assert named == {"AWS::Scheduler::ScheduleGroup"}
    for function in either.resources("AWS::Lambda::Function").values():
        assert "FunctionName" not in function["Properties"]  # elsewhere it is a reference


def test_every_dead_letter_queue_that_is_not_empty_raises_its_own_alarm(either: Stack) -> None:
    alarms = [alarm["Properties"] for alarm in either.resources("AWS::CloudWatch::Alarm").values()]
    watched = [alarm["Dimensions"] for alarm in alarms if alarm["MetricName"] == "ApproximateNumberOfMessagesVisible"]

    assert len(watched) == 3
    for queue in ("QueuesInputDeadLetters", "TimersTimerDeadLetters", "TimersScheduleFailures"):
        assert points_to(watched, queue)
    for alarm in alarms:
        assert alarm["Threshold"] == 0
        assert alarm["ComparisonOperator"] == "GreaterThanThreshold"
        assert alarm["TreatMissingData"] == "notBreaching"


def test_malformed_bodies_are_counted_apart_from_other_dead_letters(either: Stack) -> None:
    alarm = either.one("AWS::CloudWatch::Alarm", "MalformedBodies")["Properties"]

    assert alarm["MetricName"] == "malformed_bodies"
    assert '"malformed_bodies"' in (PROJECT / "runtime" / "batch.py").read_text()


def test_missing_permissions_and_wrong_settings_raise_an_alarm(either: Stack) -> None:
    alarm = either.one("AWS::CloudWatch::Alarm", "Misconfigured")["Properties"]

    assert alarm["MetricName"] == Misconfigured.code


def test_callbacks_whose_token_has_expired_raise_an_alarm_for_somebody_may_still_wait_for_them(either: Stack) -> None:
    alarm = either.one("AWS::CloudWatch::Alarm", "ExpiredCallbacks")["Properties"]

    assert alarm["MetricName"] == handlers.receiver.COUNTED_AS["expired"]


@pytest.mark.parametrize(
    ("counted", "counter"),
    [
        ("MalformedBodies", handlers.slice.metrics),
        ("Misconfigured", handlers.slice.metrics),
        ("ExpiredCallbacks", handlers.receiver.metrics),
    ],
)
def test_alarms_on_counts_look_where_the_function_counts(either: Stack, counted: str, counter: Metrics) -> None:
    alarm = either.one("AWS::CloudWatch::Alarm", counted)["Properties"]

    assert alarm["Namespace"] == counter.namespace
    assert alarm["Dimensions"] == [{"Name": "service", "Value": counter.service}]
    assert alarm["Statistic"] == "Sum"


def test_alarms_tell_a_topic_when_one_is_named(synthesize_with: SynthesizeWith, cloud: Stack) -> None:
    topic = "arn:aws:sns:eu-west-1:111122223333:on-call"

    for alarm in synthesize_with({"alarm_topic_arn": topic}).resources("AWS::CloudWatch::Alarm").values():
        assert alarm["Properties"]["AlarmActions"] == [topic]
    for alarm in cloud.resources("AWS::CloudWatch::Alarm").values():
        assert "AlarmActions" not in alarm["Properties"]


def test_the_template_holds_nothing_that_the_local_emulator_refuses(either: Stack, offline: Stack) -> None:
    for kind in REFUSED_LOCALLY:
        assert either.resources(kind) == {}
    assert offline.resources("AWS::DSQL::Cluster") == {}


@pytest.mark.parametrize("context", [CLOUD, OFFLINE], ids=["cloud", "offline"])
def test_every_exception_names_its_resource_rule_and_reason_and_is_really_needed(
    context: dict[str, object], tmp_path: Path
) -> None:
    app = build(context, str(tmp_path))
    stack = app.node.find_child("Infinity")
    assert isinstance(stack, InfinityStack)
    named = {(exception.path, exception.rule, exception.reason) for exception in exceptions(stack)}

    app.synth()

    found = {(one.path, one.rule, one.reason) for one in Stack(tmp_path, {}).exceptions}
    assert found == named
    assert all(len(reason) > 20 for _, _, reason in named)


def test_the_exceptions_of_a_synth_are_listed_and_counted(cloud: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    main(cloud.assembly)

    printed = capsys.readouterr().out
    assert printed.endswith(f"\n{len(cloud.exceptions)} exceptions to the cdk-nag rules\n")
    assert "Infinity/Payloads/Bucket/Resource\n  AwsSolutions-S1: " in printed


def test_the_template_is_clean_under_cfn_lint(either: Stack) -> None:
    linter = Path(sys.executable).with_name("cfn-lint")
    command = [linter, either.template_path]
    checked = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)

    assert checked.stdout + checked.stderr == ""
    assert checked.returncode == 0
