"""Stands in for Lambda's event source mapping, which the offline stack deploys disabled.

usage: python -m scripts.offline_stack.poller --endpoint URL --function NAME --journal FILE [--most-concurrent N]

Everything about the mapping (queue, batch size, partial failures, concurrency) is read from the deployed mapping
itself. Differences from AWS, all meant: polling is short, since the emulator's long poll steps by 100 ms; and after a
complete failure (the function raised, timed out, or its worker was killed) the messages come back after one second
instead of the queue's visibility timeout.

The journal says, by message id and group, what was delivered and what became of it; the invocations themselves are
recorded by the emulator (see `invocations`). Prints `READY 0` when it polls.

Order within a message group is SQS's own doing: while a message of a group is in flight, the queue gives out no other.
"""

import argparse
import json
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from scripts.offline_stack import emulator
from scripts.offline_stack.event_source import Invocation, Message, Settlement, lambda_event, settle
from scripts.offline_stack.journal import Journal
from scripts.offline_stack.supervisor import StackError

if TYPE_CHECKING:
    from types_boto3_lambda import LambdaClient
    from types_boto3_sqs import SQSClient
    from types_boto3_sqs.type_defs import (
        ChangeMessageVisibilityBatchRequestEntryTypeDef,
        DeleteMessageBatchRequestEntryTypeDef,
    )

BACK_AFTER_FAILURE_S = 1
SHORTEST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.1
OUTAGE_PAUSE_S = 1.0
THROTTLE_PAUSE_S = 0.2
# Longer than any function may run: Lambda's own limit is 900 s.
INVOKE_TIMEOUT_S = 960
DEFAULT_CONCURRENCY = 16  # each concurrent invocation is one worker process of the emulator on this machine


@dataclass(frozen=True, slots=True)
class EventSource:
    """The deployed mapping: which queue feeds which function, and how."""

    function: str
    queue_url: str
    queue_arn: str
    batch_size: int
    reports_failures: bool
    most_concurrent: int


class Poller:
    """Feeds one queue to one function until it is told to stop."""

    def __init__(self, source: EventSource, sqs: "SQSClient", functions: "LambdaClient", journal: Journal) -> None:
        self._source = source
        self._url = source.queue_url
        self._sqs = sqs
        self._functions = functions
        self._journal = journal
        self._free = threading.BoundedSemaphore(source.most_concurrent)
        self._stopped = threading.Event()
        self._defect: BaseException | None = None

    def stop(self) -> None:
        """Receive nothing more; `run` returns when the open invocations have ended."""
        self._stopped.set()

    def run(self) -> None:
        """Poll until `stop`, or until something happens that no queue or function should be able to cause."""
        pause_s = SHORTEST_PAUSE_S
        with ThreadPoolExecutor(self._source.most_concurrent) as pool:
            while not self._stopped.is_set():
                messages = self._receive()
                if messages:
                    pool.submit(self._deliver, messages).add_done_callback(self._note_defect)
                    pause_s = SHORTEST_PAUSE_S
                    continue
                self._stopped.wait(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        if self._defect is not None:
            raise self._defect

    def _note_defect(self, delivery: "Future[None]") -> None:
        defect = delivery.exception()
        if defect is not None:
            self._defect = defect
            self.stop()

    def _receive(self) -> list[Message]:
        """Receive one batch and keep a place for its invocation; nothing received keeps no place."""
        if not self._free.acquire(timeout=LONGEST_PAUSE_S):
            return []
        messages: list[Message] = []
        try:
            answer = self._sqs.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=self._source.batch_size,
                MessageSystemAttributeNames=["All"],
                MessageAttributeNames=["All"],
            )
            messages = list(answer.get("Messages", []))
        except (BotoCoreError, ClientError) as error:
            self._journal.write("receive failed", queue=self._url, error=str(error))
            self._stopped.wait(OUTAGE_PAUSE_S)
        if not messages:
            self._free.release()
        return messages

    def _deliver(self, messages: Sequence[Message]) -> None:
        try:
            started = time.monotonic()
            self._journal.write(
                "batch delivered", function=self._source.function, **_names(messages), receives=_receives(messages)
            )
            invocation = self._invoke(messages)
            settlement = settle(
                [message["MessageId"] for message in messages],
                invocation,
                reports_failures=self._source.reports_failures,
            )
            self._carry_out(settlement, messages)
            self._journal.write(
                "batch settled",
                function=self._source.function,
                **_names(messages),
                duration_s=round(time.monotonic() - started, 4),
                outcome=settlement.outcome,
                handled=settlement.handled,
                failed=settlement.failed,
                reason=settlement.reason,
            )
        finally:
            self._free.release()

    def _invoke(self, messages: Sequence[Message]) -> Invocation:
        payload = json.dumps(lambda_event(messages, self._source.queue_arn)).encode()
        while True:
            try:
                response = self._functions.invoke(FunctionName=self._source.function, Payload=payload)
            except self._functions.exceptions.TooManyRequestsException:
                # A throttle is not a failure: Lambda's pollers try the same batch again.
                time.sleep(THROTTLE_PAUSE_S)
                continue
            except (BotoCoreError, ClientError) as error:
                return Invocation("", str(error))
            answer = response["Payload"].read().decode()
            return Invocation(answer, answer if response.get("FunctionError") else None)

    def _carry_out(self, settlement: Settlement, messages: Sequence[Message]) -> None:
        handles = {message["MessageId"]: message["ReceiptHandle"] for message in messages}
        if settlement.handled:
            done: list[DeleteMessageBatchRequestEntryTypeDef] = [
                {"Id": str(place), "ReceiptHandle": handles[name]} for place, name in enumerate(settlement.handled)
            ]
            self._tell_queue("delete", lambda: self._sqs.delete_message_batch(QueueUrl=self._url, Entries=done))
        if settlement.outcome == "failed":
            back: list[ChangeMessageVisibilityBatchRequestEntryTypeDef] = [
                {"Id": str(place), "ReceiptHandle": handles[name], "VisibilityTimeout": BACK_AFTER_FAILURE_S}
                for place, name in enumerate(settlement.failed)
            ]
            release = self._sqs.change_message_visibility_batch
            self._tell_queue("release", lambda: release(QueueUrl=self._url, Entries=back))

    def _tell_queue(self, act: str, call: Callable[[], Any]) -> None:
        """Make one queue call. What the queue refuses (a handle that is too old) comes again by itself, as on AWS."""
        try:
            refused = call().get("Failed", [])
        except (BotoCoreError, ClientError) as error:
            refused = [str(error)]
        if refused:
            self._journal.write(f"{act} refused", queue=self._url, refused=refused)


def find_event_source(functions: "LambdaClient", sqs: "SQSClient", function: str, most_concurrent: int) -> EventSource:
    """Read the one mapping of a function, and make sure that the emulator does not serve it.

    Raises:
        StackError: the function has none, or several.
    """
    mappings = functions.list_event_source_mappings(FunctionName=function)["EventSourceMappings"]
    if len(mappings) != 1:
        raise StackError(f"{function} has {len(mappings)} event source mappings; exactly one is needed.")
    mapping = mappings[0]
    # Two must never poll. The template has disabled it already, but of a mapping that came from a template the emulator
    # reports "Enabled" either way, so there is nothing to check.
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    queue_arn = mapping["EventSourceArn"]
    deployed = mapping.get("ScalingConfig", {}).get("MaximumConcurrency", most_concurrent)
    return EventSource(
        function=function,
        queue_url=sqs.get_queue_url(QueueName=queue_arn.rpartition(":")[2])["QueueUrl"],
        queue_arn=queue_arn,
        batch_size=mapping["BatchSize"],
        reports_failures="ReportBatchItemFailures" in mapping.get("FunctionResponseTypes", []),
        most_concurrent=min(deployed, most_concurrent),
    )


def _names(messages: Sequence[Message]) -> dict[str, list[str]]:
    attributes = [message.get("Attributes", {}) for message in messages]
    return {
        "message_ids": [message["MessageId"] for message in messages],
        "groups": sorted({each["MessageGroupId"] for each in attributes if "MessageGroupId" in each}),
    }


def _receives(messages: Sequence[Message]) -> dict[str, list[str | int]]:
    """By message id: its group, and how often the queue has given it out, this time included."""
    attributes = {message["MessageId"]: message["Attributes"] for message in messages}
    return {
        name: [each.get("MessageGroupId", ""), int(each["ApproximateReceiveCount"])]
        for name, each in attributes.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Feed a queue's messages to its function")
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--function", required=True)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--most-concurrent", type=int, default=DEFAULT_CONCURRENCY)
    arguments = parser.parse_args()

    # No retries by the client: a second invocation is for the queue to order, never for a library.
    config = Config(
        max_pool_connections=arguments.most_concurrent + 1,
        read_timeout=INVOKE_TIMEOUT_S,
        retries={"total_max_attempts": 1},
    )
    settings = emulator.client_settings(arguments.endpoint)
    sqs = boto3.client("sqs", config=config, **settings)
    functions = boto3.client("lambda", config=config, **settings)
    source = find_event_source(functions, sqs, arguments.function, arguments.most_concurrent)
    poller = Poller(source, sqs, functions, Journal(arguments.journal))
    for stop_signal in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop_signal, lambda *_: poller.stop())
    print("READY 0", flush=True)
    poller.run()


if __name__ == "__main__":
    main()
