"""What a person should look at: messages that ended up aside or do not get on, each kind with an alarm of its own."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

# What the slice counts, by the names it counts under. Bodies it could not read are parked beside what failed for other
# reasons; a missing permission or a wrong setting makes messages come back until somebody mends it.
NAMESPACE = "Infinity"
DIMENSIONS = {"service": "slice"}
COUNTED = {
    "malformed_bodies": "Somebody sends messages to the input queue that nobody can read",
    "misconfigured": "Slices are refused access or misconfigured: messages wait until that is mended",
}


class Alarms(Construct):
    """One alarm per dead-letter queue that is not empty, and one per kind of trouble that the slice counts."""

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
        for counted, description in COUNTED.items():
            metric = cloudwatch.Metric(
                namespace=NAMESPACE,
                metric_name=counted,
                dimensions_map=DIMENSIONS,
                period=Duration.minutes(5),
                statistic=cloudwatch.Stats.SUM,
            )
            self._alarm(counted.title().replace("_", ""), metric, description)

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
