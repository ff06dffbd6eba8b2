"""The slice function: records of the input queue in, partial batch failures out."""

import os
from collections import Counter
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from handlers.logs import write_runtime_logs_through
from runtime.batch import BatchResult, Workers, run_batch
from runtime.ports import RawRecord
from runtime.settings import Settings
from runtime.wiring import workers_on_aws

logger = Logger(service="slice")
metrics = Metrics(namespace="Infinity", service="slice")


@metrics.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Run the slices of one delivery. Reports what comes back by record; raises for nothing a record holds."""
    records = [_record(record) for record in event["Records"]]
    result = run_batch(records, _workers(), context.get_remaining_time_in_millis() / 1000)
    _report(result)
    return {"batchItemFailures": [{"itemIdentifier": record_id} for record_id in result.failed]}


@cache
def _workers() -> Workers:
    write_runtime_logs_through(logger)
    return workers_on_aws(Settings.from_environment(os.environ))


def _record(record: dict[str, Any]) -> RawRecord:
    attributes = record["attributes"]
    return RawRecord(
        record_id=record["messageId"],
        handle=record["receiptHandle"],
        group_id=attributes["MessageGroupId"],
        body=record["body"],
        receive_count=int(attributes["ApproximateReceiveCount"]),
        sent_ms=int(attributes["SentTimestamp"]),
        first_received_ms=int(attributes["ApproximateFirstReceiveTimestamp"]),
    )


def _report(result: BatchResult) -> None:
    for name, times in Counter(result.counted).items():
        metrics.add_metric(name=name, unit=MetricUnit.Count, value=times)
    metrics.add_metric(name="oldest_call_s", unit=MetricUnit.Seconds, value=result.oldest_call_s)
