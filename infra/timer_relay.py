"""The timer relay: moves due timers from the timer queue to the input queue."""

from collections.abc import Mapping

from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.functions import FunctionDefaults, RuntimeFunction
from infra.timers import RELAY_TIMEOUT_S


class TimerRelay(Construct):
    """The relay function and its mapping to the timer queue."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        defaults: FunctionDefaults,
        queue: sqs.Queue,
        environment: Mapping[str, str],
        polled_by_lambda: bool,
    ) -> None:
        super().__init__(scope, construct_id)
        self.relay = RuntimeFunction(
            self,
            "Relay",
            defaults=defaults,
            handler="handlers.timer_relay.handler",
            description="Moves due timers to the input queue and puts early ones back",
            environment=environment,
            timeout_s=RELAY_TIMEOUT_S,
            recursive_loop=lambda_.RecursiveLoop.ALLOW,
        )
        self.relay.function.add_event_source(
            sources.SqsEventSource(queue, batch_size=10, report_batch_item_failures=True, enabled=polled_by_lambda)
        )
