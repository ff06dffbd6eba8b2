"""Timers on the timer queue: short ones by its delay, long ones by a one-time schedule that writes to it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from runtime.adapters.aws.errors import code_of, translated
from runtime.identity import digest
from runtime.ports import Clock, Keyring, Timer
from runtime.timers import TravellingTimer, seconds_until
from runtime.wire.messages import message_body, message_deduplication_id
from runtime.wire.timers import timer_body

if TYPE_CHECKING:
    from types_boto3_scheduler import EventBridgeSchedulerClient
    from types_boto3_scheduler.type_defs import TargetTypeDef
    from types_boto3_sqs import SQSClient

# A schedule only writes to a queue. What that queue does not take for a day ends on the schedules' dead-letter queue;
# Scheduler's own default of 185 attempts within that day would add nothing.
RETRY_ATTEMPTS = 30
RETRY_AGE_S = 86_400


@dataclass(frozen=True, slots=True)
class TimerTargets:
    """Where timers travel. A wait of at most `delay_limit_s` is a delay on the queue, a longer one a schedule."""

    queue_url: str
    queue_arn: str
    schedule_group: str
    scheduler_role_arn: str
    dead_letter_arn: str
    delay_limit_s: int


class SchedulerTimers:
    def __init__(
        self,
        sqs: "SQSClient",
        scheduler: "EventBridgeSchedulerClient",
        targets: TimerTargets,
        keyring: Keyring,
        clock: Clock,
    ) -> None:
        self._sqs = sqs
        self._scheduler = scheduler
        self._targets = targets
        self._keyring = keyring
        self._clock = clock

    def start(self, timer: Timer) -> None:
        left_s = seconds_until(timer.due_ms, self._clock.now_ms())
        if left_s > self._targets.delay_limit_s:
            self._schedule(timer)
        else:
            self._delay(timer, max(0, left_s))

    def stop(self, name: str) -> None:
        with translated():
            try:
                self._scheduler.delete_schedule(Name=_schedule_name(name), GroupName=self._targets.schedule_group)
            except ClientError as error:
                # It was a short one, has fired, or somebody else stopped it.
                if code_of(error) != "ResourceNotFoundException":
                    raise

    def _delay(self, timer: Timer, delay_s: int) -> None:
        with translated():
            self._sqs.send_message(
                QueueUrl=self._targets.queue_url, MessageBody=self._body(timer), DelaySeconds=delay_s
            )

    def _schedule(self, timer: Timer) -> None:
        with translated():
            try:
                self._scheduler.create_schedule(
                    Name=_schedule_name(timer.name),
                    GroupName=self._targets.schedule_group,
                    ScheduleExpression=schedule_expression(timer.due_ms),
                    ScheduleExpressionTimezone="UTC",
                    FlexibleTimeWindow={"Mode": "OFF"},
                    # Without it, finished schedules stay and count towards the quota.
                    ActionAfterCompletion="DELETE",
                    Target=self._target(timer),
                )
            except ClientError as error:
                # The name is the wish: whoever took it wished for the same message at the same time.
                if code_of(error) != "ConflictException":
                    raise

    def _target(self, timer: Timer) -> "TargetTypeDef":
        return {
            "Arn": self._targets.queue_arn,
            "RoleArn": self._targets.scheduler_role_arn,
            "Input": self._body(timer),
            "RetryPolicy": {"MaximumRetryAttempts": RETRY_ATTEMPTS, "MaximumEventAgeInSeconds": RETRY_AGE_S},
            "DeadLetterConfig": {"Arn": self._targets.dead_letter_arn},
        }

    def _body(self, timer: Timer) -> str:
        message = timer.message
        key = self._keyring.signing(self._clock.now_ms())
        return timer_body(
            TravellingTimer(
                due_ms=timer.due_ms,
                body=message_body(message, key),
                group_id=message.thread_id,
                deduplication_id=message_deduplication_id(message),
            )
        )


def schedule_expression(due_ms: int) -> str:
    """Return `at(…)` in UTC, on the next full second: expressions know no fractions, and early would be too early."""
    due = datetime.fromtimestamp(-(-due_ms // 1000), tz=UTC)
    return f"at({due:%Y-%m-%dT%H:%M:%S})"


def _schedule_name(timer_name: str) -> str:
    """Return a name of the allowed length and letters, whatever the timer's is made of."""
    return digest("timer", timer_name)
