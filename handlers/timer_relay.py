"""The timer relay function: records of the timer queue in, partial batch failures out."""

import os
from functools import cache
from typing import Any

import boto3
from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from handlers.logs import write_runtime_logs_through
from runtime.adapters.aws.clients import client_config
from runtime.adapters.aws.relay import RelayResult, TimerRecord, TimerRelay
from runtime.adapters.clock import SystemClock
from runtime.settings import Settings

logger = Logger(service="timer_relay")
metrics = Metrics(namespace="Infinity", service="timer_relay")


@metrics.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:  # noqa: ARG001 - Lambda passes it
    """Move timers on. Reports what comes back by record; raises for nothing a record holds."""
    result = _relay().relay([TimerRecord(record["messageId"], record["body"]) for record in event["Records"]])
    _report(result)
    return {"batchItemFailures": [{"itemIdentifier": record_id} for record_id in result.failed]}


@cache
def _relay() -> TimerRelay:
    write_runtime_logs_through(logger)
    settings = Settings.from_environment(os.environ)
    return TimerRelay(
        boto3.client("sqs", config=client_config(connections=1)),
        settings.input_queue_url,
        settings.timer_queue_url,
        settings.timer_delay_limit_s,
        SystemClock(),
    )


def _report(result: RelayResult) -> None:
    counted = {
        "timers_delivered": result.delivered,
        "timers_early": result.put_back,
        "malformed_timers": result.malformed,
    }
    for name, times in counted.items():
        metrics.add_metric(name=name, unit=MetricUnit.Count, value=times)
    logger.info("timers moved", extra={"failed": len(result.failed), **counted})
