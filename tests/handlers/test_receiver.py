"""The receiver as Lambda calls it, over a real queue, bucket and secret of the emulator."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from handlers import receiver
from runtime.adapters.aws.dynamodb_choices import DynamoViews
from runtime.adapters.aws.s3 import S3Payloads
from runtime.adapters.clock import SystemClock
from runtime.adapters.memory.keyring import FixedKeyring
from runtime.callbacks import make_token
from runtime.model.entries import TextItem
from runtime.model.messages import Message, ResultContent
from runtime.ports import Key
from runtime.wire.items import unpack_items
from runtime.wire.messages import parse_message
from scripts.offline_stack.emulator import REGION
from tests.conformance.fifo_driver import SqsFifo, SqsFifoFactory
from tests.support.clients import (
    create_state_table,
    dynamodb_client,
    fresh_name,
    s3_client,
    secrets_client,
    sqs_client,
)
from tests.support.receiver import event, view

KEY = Key("k1", b"opaque key material", 0)
BODY_LIMIT_BYTES = 500_000


@dataclass(frozen=True, slots=True)
class Deployed:
    """What stands around a deployed receiver."""

    inputs: SqsFifo
    outputs: SqsFifo
    payloads: S3Payloads
    views: DynamoViews

    def arrived(self) -> list[Message]:
        """Return what is on the input queue, as a slice would read it."""
        return [parse_message(one.record, FixedKeyring(KEY)) for one in self.inputs.receive()]


@pytest.fixture
def deployed(aws_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployed]:
    keys = {"keys": [{"id": KEY.key_id, "key": KEY.secret.decode(), "signs_from": 0}]}
    secret = secrets_client(aws_endpoint).create_secret(Name=fresh_name("token"), SecretString=json.dumps(keys))
    s3, bucket = s3_client(aws_endpoint), fresh_name("payloads")
    s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    fifo, dynamodb = SqsFifoFactory(sqs_client(aws_endpoint)), dynamodb_client(aws_endpoint)
    inputs, outputs, table = fifo.queue(), fifo.queue(), create_state_table(dynamodb)
    for name, value in {
        "INFINITY_INPUT_QUEUE_URL": inputs.url,
        "INFINITY_OUTPUT_QUEUE_URL": outputs.url,
        "INFINITY_STATE_TABLE": table,
        "INFINITY_PAYLOAD_BUCKET": bucket,
        "INFINITY_TOKEN_SECRET_ARN": secret["ARN"],
        "INFINITY_CALLBACK_BODY_LIMIT_BYTES": str(BODY_LIMIT_BYTES),
        "AWS_ENDPOINT_URL": aws_endpoint,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }.items():
        monkeypatch.setenv(name, value)
    receiver._environment.cache_clear()
    yield Deployed(inputs, outputs, S3Payloads(s3, bucket), DynamoViews(dynamodb, table))
    receiver._environment.cache_clear()


def token(call_id: str = "call_1", expires_at_ms: int = 2**50) -> str:
    return make_token(
        KEY, root_id="t-1", thread_id="t-1", call_id=call_id, toolset="builds", expires_at_ms=expires_at_ms
    )


def result(text: str = "done", **fields: Any) -> str:
    return json.dumps({"type": "tool_result", "group_id": "t-1", "id": "call_1", "text": text, **fields})


def called(body: str | None, path: str | None = None, method: str = "POST", **fields: Any) -> dict[str, Any]:
    """Call the handler with the event of a Function URL."""
    path = f"/cb/{token()}" if path is None else path
    http = {"method": method, "path": path}
    event = {"version": "2.0", "rawPath": path, "requestContext": {"http": http}, "headers": {}, **fields}
    if body is not None:
        event["body"] = body
    answer: dict[str, Any] = receiver.handler(event, LambdaContext())
    return answer


def test_a_callback_is_on_the_queue_when_it_is_answered(deployed: Deployed) -> None:
    answer = called(result())

    [message] = deployed.arrived()
    assert (answer["statusCode"], answer["body"]) == (200, '{"ok":true}')
    assert (message.thread_id, message.key.message_id) == ("t-1", "result:call_1")
    assert isinstance(message.content, ResultContent)
    assert message.content.items == (TextItem("done"),)


def test_a_body_may_come_in_base64(deployed: Deployed) -> None:
    body = base64.b64encode(result("grün").encode()).decode()

    assert called(body, isBase64Encoded=True)["statusCode"] == 200
    [message] = deployed.arrived()
    assert isinstance(message.content, ResultContent)
    assert message.content.items == (TextItem("grün"),)


def test_repeats_are_accepted_and_arrive_once_and_another_body_arrives_too(deployed: Deployed) -> None:
    statuses = [called(result(text))["statusCode"] for text in ("done", "done", "failed")]

    messages = []
    while batch := deployed.inputs.receive():
        messages += [parse_message(one.record, FixedKeyring(KEY)) for one in batch]
        for one in batch:
            deployed.inputs.delete(one.record.handle)
    assert statuses == [200, 200, 200]
    assert [message.key.message_id for message in messages] == ["result:call_1"] * 2
    assert messages[0].body_hash != messages[1].body_hash


def test_what_is_too_large_for_a_queue_message_travels_by_reference(deployed: Deployed) -> None:
    text = "x" * 400_000

    assert called(result(text))["statusCode"] == 200
    [message] = deployed.arrived()
    assert isinstance(message.content, ResultContent)
    assert message.content.payload is not None
    assert unpack_items(deployed.payloads.get(message.content.payload)) == (TextItem(text),)


@pytest.mark.parametrize(
    ("body", "path", "method", "status"),
    [
        (result(), "/", "POST", 404),
        (result(), "/cb/", "POST", 404),
        (None, None, "GET", 405),
        ("x" * (BODY_LIMIT_BYTES + 1), None, "POST", 413),
        (result(), "/cb/forged", "POST", 403),
        (result(), f"/cb/{token(expires_at_ms=1)}", "POST", 403),
        ("not json", None, "POST", 400),
        (None, None, "POST", 400),
        (result(), f"/cb/{token('call_2')}", "POST", 403),
    ],
)
def test_what_is_refused_says_why_and_is_counted_and_not_enqueued(
    deployed: Deployed,
    capsys: pytest.CaptureFixture[str],
    body: str | None,
    path: str | None,
    method: str,
    status: int,
) -> None:
    answer = called(body, path, method)

    assert answer["statusCode"] == status
    assert json.loads(answer["body"])["error"]
    assert ("Allow" in answer["headers"]) == (status == 405)
    assert deployed.arrived() == []
    [counted] = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "_aws" in line]
    assert [name for name in counted if name.startswith("callbacks")] != ["callbacks_accepted"]


def test_whoever_calls_back_too_late_is_named_in_the_log_for_somebody_to_look(
    deployed: Deployed, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    called(result(), f"/cb/{token(expires_at_ms=1)}")

    [logged] = [vars(line) for line in caplog.records if line.getMessage() == "callback answered"]
    [counted] = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "_aws" in line]
    assert (logged["levelname"], logged["toolset"], logged["thread_id"]) == ("ERROR", "builds", "t-1")
    assert counted["callbacks_expired_token"] == [1.0]
    assert deployed.arrived() == []


def test_an_event_is_known_by_its_idempotency_key_however_the_header_is_spelt(deployed: Deployed) -> None:
    for name in ("idempotency-key", "Idempotency-Key"):
        assert called(json.dumps(event()), headers={name: "k-1"})["statusCode"] == 200

    [message] = deployed.arrived()
    assert message.key.message_id == "event:call_1:k-1"


def test_a_view_is_kept_and_put_on_the_output_queue_when_it_is_answered(deployed: Deployed) -> None:
    assert called(json.dumps(view({"rows": [1, 2.5]})))["statusCode"] == 200

    [kept] = deployed.views.of_thread("t-1")
    [shown] = [json.loads(one.record.body) for one in deployed.outputs.receive()]
    assert (kept.view_type, kept.content) == ("board", {"rows": [1, 2.5]})
    assert (shown["type"], shown["thread_id"], shown["content"]) == ("view_update", "t-1", {"rows": [1, 2.5]})
    assert deployed.arrived() == []


def test_a_view_is_not_promised_while_the_table_refuses(deployed: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINITY_STATE_TABLE", "gone")

    assert called(json.dumps(view()))["statusCode"] == 500
    assert deployed.outputs.receive() == []


def test_a_broken_base64_body_is_a_bad_body(deployed: Deployed) -> None:
    assert called("§§§", isBase64Encoded=True)["statusCode"] == 400
    assert deployed.arrived() == []


def test_nothing_is_promised_while_the_queue_refuses(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INFINITY_INPUT_QUEUE_URL", f"{deployed.inputs.url}-gone")

    answer = called(result("SECRET"))

    assert (answer["statusCode"], answer["body"]) == (500, '{"error":"internal error"}')
    assert "SECRET" not in capsys.readouterr().out


def test_contents_and_tokens_are_never_logged(
    deployed: Deployed, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    called(result("SECRET"))
    called('{"type":"SECRET"}')

    assert caplog.records
    logged = "".join([capsys.readouterr().out, *(str(vars(line)) for line in caplog.records)])
    assert "SECRET" not in logged
    assert token() not in logged
    assert len(deployed.arrived()) == 1


def test_the_clock_of_the_receiver_stands_in_the_origin(deployed: Deployed) -> None:
    before_ms = SystemClock().now_ms()
    called(result())

    [message] = deployed.arrived()
    assert isinstance(message.content, ResultContent)
    assert message.content.origin is not None
    assert before_ms <= message.content.origin.received_at_ms <= SystemClock().now_ms()
