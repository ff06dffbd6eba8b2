"""The slice: the function that runs one activation of one thread, fed by the input queue."""

from collections.abc import Mapping

from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import SliceConfig
from infra.functions import FunctionDefaults, RuntimeFunction


class Slices(Construct):
    """The slice function and its mapping to the input queue."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        defaults: FunctionDefaults,
        config: SliceConfig,
        queue: sqs.Queue,
        environment: Mapping[str, str],
        polled_by_lambda: bool,
    ) -> None:
        super().__init__(scope, construct_id)
        self.slice = RuntimeFunction(
            self,
            "Slice",
            defaults=defaults,
            handler="handlers.slice.handler",
            description="Runs one slice of a thread: messages, model, commit, effects, receipts",
            environment=environment,
            timeout_s=config.timeout_s,
            memory_mb=config.memory_mb,
            # Agents go round through the queue many times by design. Lambda would stop a thread at the 16th hop; the
            # runtime's own budgets bound it instead.
            recursive_loop=lambda_.RecursiveLoop.ALLOW,
        )
        self.slice.function.add_event_source(
            sources.SqsEventSource(
                queue,
                batch_size=config.batch_size,
                max_concurrency=config.max_concurrency,
                report_batch_item_failures=True,
                enabled=polled_by_lambda,
            )
        )
