"""The slice as Lambda calls it: a database, queues and a table that are real, and a model endpoint."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from handlers import slice as slice_function
from runtime.adapters.aws.dsql_connection import DsqlConnection
from runtime.adapters.aws.dsql_endpoint import Endpoint
from runtime.adapters.aws.dsql_history import DsqlHistory
from runtime.adapters.aws.migrations import migrate
from runtime.adapters.clock import SystemClock
from runtime.adapters.memory.fifo_limits import Sending
from runtime.batch import Workers
from scripts.offline_stack.emulator import REGION
from tests.conformance.fifo_driver import SqsFifo, SqsFifoFactory
from tests.support.bedrock import serving
from tests.support.clients import create_state_table, dynamodb_client, fresh_name, secrets_client, sqs_client
from tests.support.dsql import endpoint_of
from tests.support.services import DsnFactory

REFUSED = '[[script: [{"refuse": "AccessDeniedException"}]]]'


class Invocation(LambdaContext):
    """What Lambda tells of one invocation: here only how long it may last."""

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 300_000


@dataclass(frozen=True, slots=True)
class Deployed:
    """What stands around a deployed slice function."""

    inputs: SqsFifo
    outputs: SqsFifo
    dead_letters: SqsFifo

    def said(self) -> dict[str, list[str]]:
        """Return the outputs on the queue: by thread, their types."""
        told: dict[str, list[str]] = {}
        while batch := self.outputs.receive():
            for one in batch:
                told.setdefault(one.record.group_id, []).append(json.loads(one.record.body)["type"])
                self.outputs.delete(one.record.handle)
        return told


@pytest.fixture
def deployed(fresh_dsn: DsnFactory, aws_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    database, schema = endpoint_of(fresh_dsn()), f"t_{uuid.uuid4().hex}"
    connection = DsqlConnection(
        Endpoint(database.host, database.user, database.port, "off"), lambda: "a token", SystemClock()
    )
    migrate(connection, schema, SystemClock())
    connection.close()
    keys = {"keys": [{"id": "k1", "key": "opaque key material", "signs_from": 0}]}
    secret = secrets_client(aws_endpoint).create_secret(Name=fresh_name("token"), SecretString=json.dumps(keys))
    queues = SqsFifoFactory(sqs_client(aws_endpoint))
    made = Deployed(queues.queue(), queues.queue(), queues.queue())
    with serving() as model_url:
        for name, value in {
            "INFINITY_INPUT_QUEUE_URL": made.inputs.url,
            "INFINITY_OUTPUT_QUEUE_URL": made.outputs.url,
            "INFINITY_DEAD_LETTER_QUEUE_URL": made.dead_letters.url,
            "INFINITY_STATE_TABLE": create_state_table(dynamodb_client(aws_endpoint)),
            "INFINITY_TOKEN_SECRET_ARN": secret["ARN"],
            "INFINITY_DSQL_ENDPOINT": database.host,
            "INFINITY_DSQL_PORT": str(database.port),
            "INFINITY_DSQL_USER": database.user,
            "INFINITY_DSQL_SCHEMA": schema,
            "INFINITY_DSQL_TLS": "off",
            "INFINITY_WORKER_THREADS": "2",
            "AWS_ENDPOINT_URL": aws_endpoint,
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": model_url,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
        }.items():
            monkeypatch.setenv(name, value)
        slice_function._workers.cache_clear()
        yield made
    _ended(slice_function._workers())
    slice_function._workers.cache_clear()


def _ended(workers: Workers) -> None:
    """Close what the end of its process closes."""
    workers.executor.shutdown()
    while not workers.idle.empty():
        history = workers.idle.get().ports.history
        assert isinstance(history, DsqlHistory)
        history._connection.close()


def body(text: str, thread_id: str) -> str:
    return json.dumps({"group_id": thread_id, "content": {"type": "text", "text": text}})


def invoked(deployed: Deployed, *sent: tuple[str, str]) -> list[str]:
    """Send bodies, each to a thread; invoke the function with them; return the bodies it reports as failed."""
    for number, (thread_id, text) in enumerate(sent):
        deployed.inputs.send(Sending(thread_id, f"d{number}", text))
    received = [one.record for one in deployed.inputs.receive()]
    records = [
        {
            "messageId": record.record_id,
            "receiptHandle": record.handle,
            "body": record.body,
            "attributes": {
                "MessageGroupId": record.group_id,
                "ApproximateReceiveCount": str(record.receive_count),
                "SentTimestamp": str(record.sent_ms),
                "ApproximateFirstReceiveTimestamp": str(record.first_received_ms),
            },
        }
        for record in received
    ]
    assert len(records) == len(sent)
    answer: dict[str, Any] = slice_function.handler({"Records": records}, Invocation())
    failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
    return [record.body for record in received if record.record_id in failed]


def test_a_text_is_answered_and_nothing_is_reported_as_failed(deployed: Deployed) -> None:
    assert invoked(deployed, ("t", body("hello", "t"))) == []
    assert deployed.said() == {"t": ["text", "turn_done"]}


def test_of_a_batch_the_one_that_has_to_come_back_is_named_and_the_others_are_done(deployed: Deployed) -> None:
    unlucky = body(f"hello {REFUSED}", "unlucky")
    assert invoked(deployed, ("a", body("hello", "a")), ("unlucky", unlucky), ("b", body("hello", "b"))) == [unlucky]
    assert deployed.said() == {"a": ["text", "turn_done"], "unlucky": ["error"], "b": ["text", "turn_done"]}


def test_a_body_nobody_can_read_is_parked_and_not_reported_as_failed(deployed: Deployed) -> None:
    assert invoked(deployed, ("t", "{nonsense"), ("t", body("hello", "t"))) == []
    assert [one.record.body for one in deployed.dead_letters.receive()] == ["{nonsense"]
    assert deployed.said() == {"t": ["text", "turn_done"]}
