"""What a person should look at: messages that ended up aside or do not get on, each kind with an alarm of its own."""

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

NAMESPACE = "Infinity"


@dataclass(frozen=True, slots=True)
class Counted:
    """A kind of trouble, under the name by which the function of this service counts it."""

    service: str
    metric: str
    description: str


# Bodies that could not be read are parked beside what failed for other reasons; a missing permission or a wrong setting
# makes messages come back until somebody mends it. The receiver has no database, so it cannot know whether anybody
# still waits for a callback that came too late: all of them are counted, and its log names server, thread and call.
COUNTED = {
    "MalformedBodies": Counted(
        "slice", "malformed_bodies", "Somebody sends messages to the input queue that nobody can read"
    ),
    "Misconfigured": Counted(
        "slice", "misconfigured", "Slices are refused access or misconfigured: messages wait until that is mended"
    ),
    "ExpiredCallbacks": Counted(
        "receiver",
        "callbacks_expired_token",
        "A tool still calls back under a token that expired: a subscription may be dead",
    ),
}


class Alarms(Construct):
    """One alarm per dead-letter queue that is not empty, and one per kind of trouble that the functions count."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        dead_letters: Mapping[str, sqs.Queue],
        topic_arn: str | None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._topic = None if topic_arn is None else sns.Topic.from_topic_arn(self, "Topic", topic_arn)
        for what, queue in dead_letters.items():
            metric = queue.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(1), statistic=cloudwatch.Stats.MAXIMUM
            )
            self._alarm(f"{what}NotEmpty", metric, "Messages were given up: read them, mend the cause, redrive them")
        for name, counted in COUNTED.items():
            metric = cloudwatch.Metric(
                namespace=NAMESPACE,
                metric_name=counted.metric,
                dimensions_map={"service": counted.service},
                period=Duration.minutes(5),
                statistic=cloudwatch.Stats.SUM,
            )
            self._alarm(name, metric, counted.description)

    def _alarm(self, construct_id: str, metric: cloudwatch.Metric, description: str) -> None:
        alarm = metric.create_alarm(
            self,
            construct_id,
            alarm_description=description,
            threshold=0,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        if self._topic is not None:
            alarm.add_alarm_action(actions.SnsAction(self._topic))
