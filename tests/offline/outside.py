"""What somebody outside sees of a deployed stack: its queues, its stored history, and what its functions printed."""

import json
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from runtime.adapters.aws.secrets import SecretsKeyring
from runtime.adapters.clock import SystemClock
from runtime.ports import Key
from scripts.commands.outputs import Output, read_output
from scripts.commands.target import Target
from scripts.demonstration.evidence import StoredEntry, count_running, read_entries
from scripts.offline_stack.stack import OfflineStack
from scripts.storming.aftermath import as_readers_see_them

Depth = Literal[
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
]
PATIENCE_S = 120.0
PAUSE_S = 0.05
HOLD_S = 30
KEY_REST_S = 900
DEPTHS: tuple[Depth, ...] = get_args(Depth)


@dataclass(frozen=True, slots=True)
class Letter:
    """A message of the dead-letter queue. `reason` is None where it carries none."""

    thread_id: str
    body: str
    reason: str | None
    handle: str


@dataclass(frozen=True)
class Outside:
    """Sends to a stack, waits until it has nothing more to do, and reads what came of it.

    Everything that is taken off a queue is of threads whose ids begin with `run`; the rest is left there.
    """

    stack: OfflineStack
    target: Target
    run: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    def send(self, thread_id: str, body: str, deduplication_id: str | None = None) -> str:
        """Put a body on the input queue and return the id SQS gave it. Each is new to SQS unless told otherwise."""
        sent = self.target.sqs.send_message(
            QueueUrl=self.target.input_queue_url,
            MessageBody=body,
            MessageGroupId=thread_id,
            MessageDeduplicationId=deduplication_id or uuid.uuid4().hex,
        )
        return sent["MessageId"]

    def settle(self) -> None:
        """Return when the input queue is empty and no function runs."""
        deadline = time.monotonic() + PATIENCE_S
        while self._waiting() or count_running(self.stack.invocation_log_path) or self._waiting():
            assert time.monotonic() < deadline, f"the stack is still at work after {PATIENCE_S:.0f} s"
            time.sleep(PAUSE_S)

    def outputs(self) -> dict[str, list[Output]]:
        """Take the outputs of our threads off the queue; by thread, as a reader orders them."""
        taken = self._take(self.target.output_queue_url)
        return as_readers_see_them(
            read_output(message["Body"], int(message["Attributes"]["SentTimestamp"]) / 1000) for message in taken
        )

    def dead_letters(self) -> list[Letter]:
        """Take the dead letters of our threads off their queue."""
        return [
            Letter(
                thread_id=message["Attributes"]["MessageGroupId"],
                body=message["Body"],
                reason=message.get("MessageAttributes", {}).get("reason", {}).get("StringValue"),
                handle=message["ReceiptHandle"],
            )
            for message in self._take(self.target.outputs["InputDeadLetterQueueUrl"])
        ]

    def history(self, thread_id: str) -> list[StoredEntry]:
        return read_entries(self.stack.database_dsn, thread_id)

    def printed(self) -> "Printed":
        """What the functions print from now on."""
        log = self.stack.invocation_log_path.with_name("functions.log")
        return Printed(log, log.stat().st_size if log.exists() else 0)

    def signing_key(self) -> Key:
        """The key with which the deployed functions sign."""
        secrets = self.stack.client("secretsmanager")
        keyring = SecretsKeyring(secrets, self.stack.outputs["TokenSecretArn"], KEY_REST_S, SystemClock())
        return keyring.signing(SystemClock().now_ms())

    def _waiting(self) -> int:
        attributes = self.target.sqs.get_queue_attributes(QueueUrl=self.target.input_queue_url, AttributeNames=["All"])[
            "Attributes"
        ]
        return sum(int(attributes[name]) for name in DEPTHS)

    def _take(self, url: str) -> list[dict[str, Any]]:
        """Take what lies in a queue for our threads, in order; what belongs to others is released again."""
        ours: list[dict[str, Any]] = []
        others: list[str] = []
        while batch := self._receive(url):
            for message in batch:
                if message["Attributes"]["MessageGroupId"].startswith(self.run):
                    self.target.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                    ours.append(message)
                else:
                    others.append(message["ReceiptHandle"])
        for handle in others:
            self.target.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=0)
        return ours

    def _receive(self, url: str) -> list[dict[str, Any]]:
        answer = self.target.sqs.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=10,
            VisibilityTimeout=HOLD_S,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        )
        return [dict(message) for message in answer.get("Messages", [])]


@dataclass(frozen=True, slots=True)
class Printed:
    """What the functions printed from one moment on."""

    log: Path
    from_byte: int

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Every line that is a JSON object."""
        with self.log.open() as log:
            log.seek(self.from_byte)
            return list(_objects(log))

    @property
    def counted(self) -> Counter[str]:
        """The metrics that count something, added up over all invocations."""
        counted: Counter[str] = Counter()
        for line in self.lines:
            for name in _counts_in(line):
                counted[name] += sum(map(int, line[name]))
        return counted

    def said(self, message: str) -> list[dict[str, Any]]:
        """The log lines with this message."""
        return [line for line in self.lines if line.get("message") == message]


def _objects(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith("{"):
            yield json.loads(line)


def _counts_in(line: dict[str, Any]) -> list[str]:
    metrics = [metric for each in line.get("_aws", {}).get("CloudWatchMetrics", []) for metric in each["Metrics"]]
    return [metric["Name"] for metric in metrics if metric["Unit"] == "Count"]


def texts_said(outputs: Iterable[Output]) -> list[str]:
    return [output.text_of("text") for output in outputs if output.type == "text"]
