"""The receiver function: requests to its URL in, answers out. Whoever calls is a stranger until the token is read."""

import base64
import binascii
import os
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3
from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from handlers.logs import write_runtime_logs_through
from runtime.adapters.aws.clients import client_config
from runtime.adapters.aws.dynamodb_choices import DynamoViews
from runtime.adapters.aws.s3 import S3Payloads
from runtime.adapters.aws.secrets import SecretsKeyring
from runtime.adapters.aws.sqs import SqsQueues
from runtime.adapters.clock import SystemClock
from runtime.errors import described
from runtime.receive import Answer, ReceiverLimits, ReceiverPorts, Request, receive
from runtime.settings import Settings

logger = Logger(service="receiver")
metrics = Metrics(namespace="Infinity", service="receiver")

COUNTED_AS = {
    None: "callbacks_accepted",
    "no_such_path": "callbacks_not_found",
    "method": "callbacks_wrong_method",
    "too_large": "callbacks_too_large",
    "malformed": "callbacks_malformed_token",
    "forged": "callbacks_forged_token",
    "expired": "callbacks_expired_token",
    "bad_body": "callbacks_bad_body",
    "not_the_tokens_call": "callbacks_of_another_call",
}


@metrics.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:  # noqa: ARG001 - Lambda passes it
    """Answer one request. Never raises: an unanswered caller cannot tell a repeat from a first try."""
    try:
        environment = _environment()
        answer = receive(_request(event), environment.ports, environment.limits)
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller is to try again
        logger.error("callback not accepted", extra=described(error))  # noqa: TRY400 - its message may quote the body
        metrics.add_metric(name="callbacks_failed", unit=MetricUnit.Count, value=1)
        return _response(500, '{"error":"internal error"}')
    _report(answer)
    return _response(answer.status, answer.body)


@dataclass(frozen=True, slots=True)
class _Environment:
    ports: ReceiverPorts
    limits: ReceiverLimits


@cache
def _environment() -> _Environment:
    write_runtime_logs_through(logger)
    settings = Settings.from_environment(os.environ)
    config, clock = client_config(connections=1), SystemClock()
    secrets = boto3.client("secretsmanager", config=config)
    keyring = SecretsKeyring(secrets, settings.token_secret_arn, settings.key_rest_s, clock)
    sqs = boto3.client("sqs", config=config)
    views = DynamoViews(boto3.client("dynamodb", config=config), settings.state_table)
    queues = SqsQueues(sqs, settings.input_queue_url, settings.output_queue_url, keyring, clock)
    payloads = S3Payloads(boto3.client("s3", config=config), settings.payload_bucket)
    limits = ReceiverLimits(settings.callback_body_limit_bytes, settings.inline_bytes)
    return _Environment(ReceiverPorts(keyring, queues, payloads, views, clock), limits)


def _request(event: dict[str, Any]) -> Request:
    http = event["requestContext"]["http"]
    headers = {name.lower(): value for name, value in (event.get("headers") or {}).items()}
    return Request(method=http["method"], path=event["rawPath"], body=_body(event), headers=headers)


def _body(event: dict[str, Any]) -> bytes:
    """Return the body's bytes. Those of a broken encoding stay as they are: no JSON, and refused as that."""
    given = (event.get("body") or "").encode(errors="surrogatepass")
    if not event.get("isBase64Encoded"):
        return bytes(given)
    try:
        return base64.b64decode(given, validate=True)
    except binascii.Error:
        return bytes(given)


def _report(answer: Answer) -> None:
    about = answer.about
    metrics.add_metric(name=COUNTED_AS[answer.reason], unit=MetricUnit.Count, value=1)
    fields = {
        "status": answer.status,
        "reason": answer.reason,
        "toolset": about and about.toolset,
        "thread_id": about and about.thread_id,
        "call_id": about and about.call_id,
    }
    # A tool that calls back too late has a subscription that is dead, or a result that nobody gets.
    write = logger.error if answer.reason == "expired" else logger.info
    write("callback answered", extra=fields)


def _response(status: int, body: str) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"}
    if status == 405:
        headers["Allow"] = "POST"
    return {"statusCode": status, "headers": headers, "body": body}
