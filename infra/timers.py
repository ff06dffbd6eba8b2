"""Timers: one standard queue for short delays and for what the Scheduler delivers after long ones."""

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import QueueConfig

RELAY_TIMEOUT_S = 30
VISIBILITY_S = 6 * RELAY_TIMEOUT_S  # as Lambda recommends for a queue it polls


class Timers(Construct):
    """The timer queue, the schedule group, and the role under which the Scheduler sends.

    The queue is a standard one because a FIFO queue takes no delay per message, and because the Scheduler cannot set
    the deduplication id that the input queue asks for. The relay moves what is due.
    """

    def __init__(self, scope: Construct, construct_id: str, *, config: QueueConfig) -> None:
        super().__init__(scope, construct_id)
        self._retention = Duration.days(config.retention_days)
        self.dead_letters = self._standard("TimerDeadLetters")
        self.schedule_failures = self._standard("ScheduleFailures")
        self.queue = self._standard(
            "Timer",
            visibility=Duration.seconds(VISIBILITY_S),
            dead_letters=sqs.DeadLetterQueue(max_receive_count=config.max_receive_count, queue=self.dead_letters),
        )
        # Schedules are named per group; a group of its own keeps two deployments of one account apart.
        self.schedule_group = scheduler.CfnScheduleGroup(
            self, "ScheduleGroup", name=f"{Stack.of(self).stack_name}-timers"
        )
        self.scheduler_role = self._scheduler_role()

    def _standard(
        self,
        construct_id: str,
        *,
        visibility: Duration | None = None,
        dead_letters: sqs.DeadLetterQueue | None = None,
    ) -> sqs.Queue:
        return sqs.Queue(
            self,
            construct_id,
            retention_period=self._retention,
            visibility_timeout=visibility,
            dead_letter_queue=dead_letters,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
        )

    def _scheduler_role(self) -> iam.Role:
        """A role that only this account's schedules of this group can take, so that no other's can send here."""
        conditions = {
            "StringEquals": {"aws:SourceAccount": Stack.of(self).account},
            "ArnEquals": {"aws:SourceArn": self.schedule_group.attr_arn},
        }
        role = iam.Role(
            self,
            "SchedulerRole",
            description="EventBridge Scheduler sends due timers to the timer queue",
            assumed_by=iam.ServicePrincipal("scheduler.amazonaws.com", conditions=conditions),
        )
        # The Scheduler sends to a schedule's dead-letter queue under the same role as to its target.
        targets = [self.queue.queue_arn, self.schedule_failures.queue_arn]
        role.add_to_policy(iam.PolicyStatement(actions=["sqs:SendMessage"], resources=targets))
        return role
