"""What a person should look at: messages that ended up aside, each kind with an alarm of its own."""

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

# The slice counts bodies it could not read under this name; they are parked beside what failed for other reasons.
METRIC_NAMESPACE = "Infinity"
MALFORMED_METRIC = "MalformedBodies"


class Alarms(Construct):
    """One alarm per dead-letter queue that is not empty, and one for malformed message bodies."""

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
        malformed = cloudwatch.Metric(
            namespace=METRIC_NAMESPACE,
            metric_name=MALFORMED_METRIC,
            period=Duration.minutes(5),
            statistic=cloudwatch.Stats.SUM,
        )
        self._alarm("MalformedBodies", malformed, "Somebody sends messages to the input queue that nobody can read")

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
