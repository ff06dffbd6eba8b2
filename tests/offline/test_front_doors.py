"""The ways in: the line of the AWS CLI in the README, a message sent twice, and one that nobody can read."""

import io
import re
import subprocess
import time
import uuid

from rich.console import Console

from scripts.bootstrap import ROOT, VENV
from scripts.commands.chat import follow_turn
from scripts.commands.messages import TextMessage, send
from scripts.commands.outputs import Output, OutputReader
from scripts.commands.rendering import Screen
from scripts.commands.target import Target
from scripts.offline_stack.stack import OfflineStack

PATIENCE_S = 60.0
QUIET_S = 5.0


def test_the_line_of_the_aws_cli_in_the_readme_is_answered(stack: OfflineStack, target: Target) -> None:
    shell = next(block for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "sqs send-message" in block)
    line = shell[shell.index(".venv/bin/aws") :]
    environment = {"PATH": f"{VENV / 'bin'}:/usr/bin:/bin", **stack.environment}
    subprocess.run(["/bin/sh", "-euc", line], env=environment, cwd=ROOT, check=True, capture_output=True)

    shown = io.StringIO()
    reader = OutputReader(target.sqs, target.output_queue_url, "my-conversation")
    assert follow_turn(reader, Screen(Console(file=shown, width=200)), PATIENCE_S)
    assert "agent" in shown.getvalue()


def test_a_message_that_is_sent_again_under_its_own_id_is_answered_once(target: Target) -> None:
    thread_id = f"twice-{uuid.uuid4().hex[:8]}"
    # Another deduplication id each time, as after the five minutes for which SQS remembers one.
    for nonce in ("first", "again"):
        message = TextMessage(thread_id, "Hello", message_id="hello-1")
        target.sqs.send_message(
            QueueUrl=target.input_queue_url,
            MessageBody=message.body,
            MessageGroupId=thread_id,
            MessageDeduplicationId=f"{nonce}-{thread_id}",
        )
    assert [output.type for output in _outputs(target, thread_id)].count("turn_done") == 1


def test_a_body_that_nobody_can_read_is_parked_and_holds_nothing_up(target: Target) -> None:
    thread_id = f"unreadable-{uuid.uuid4().hex[:8]}"
    target.sqs.send_message(
        QueueUrl=target.input_queue_url,
        MessageBody='{"group_id": 7}',
        MessageGroupId=thread_id,
        MessageDeduplicationId=f"bad-{thread_id}",
    )
    send(target.sqs, target.input_queue_url, TextMessage(thread_id, "Hello"))

    assert "turn_done" in [output.type for output in _outputs(target, thread_id)]
    dead_letters = target.outputs["InputDeadLetterQueueUrl"]
    (parked,) = target.sqs.receive_message(QueueUrl=dead_letters, MessageAttributeNames=["All"])["Messages"]
    assert (parked["Body"], "reason" in parked["MessageAttributes"]) == ('{"group_id": 7}', True)
    target.sqs.delete_message(QueueUrl=dead_letters, ReceiptHandle=parked["ReceiptHandle"])


def _outputs(target: Target, thread_id: str) -> list[Output]:
    """Everything the thread says until it has been quiet for a while after the end of a turn."""
    reader = OutputReader(target.sqs, target.output_queue_url, thread_id)
    found: list[Output] = []
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        fresh = reader.read()
        found += fresh
        if any(output.type == "turn_done" for output in fresh):
            until = min(until, time.monotonic() + QUIET_S)
        time.sleep(0.1)
    return found


README = (ROOT / "README.md").read_text()
