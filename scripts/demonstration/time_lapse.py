"""Lets hours pass in seconds: moves the stack's clock on, as far as nothing that goes on there is passed over."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scripts.commands.target import Target
from scripts.demonstration.evidence import running_since
from scripts.offline_stack.stack import OfflineStack

if TYPE_CHECKING:
    from types_boto3_sqs.client import SQSClient

# While nothing runs. Nothing comes back later than this because of the steps.
STEP_S = 20
# While a function runs, so that its pauses pass, too, and its time does not run out: forty times as fast as here.
SLOW_STEP_S, SLOW_PAUSE_S = 2, 0.05
# Only as far as the oldest of them has run for this long: of a function's 300 s enough must be left for what goes on
# at this machine's own pace, such as the start of a process.
LONGEST_RUN_S = 150
# What is to be seen on a queue is fetched well within these looks, unless its group is locked by another message.
LOOKS = 3


@dataclass(frozen=True, slots=True)
class TimeLapse:
    """The passing time of one stack."""

    stack: OfflineStack
    sqs: "SQSClient"
    queue_urls: Sequence[str]

    @classmethod
    def of(cls, stack: OfflineStack, target: Target) -> "TimeLapse":
        return cls(stack, target.sqs, (target.input_queue_url, target.outputs["TimerQueueUrl"]))

    def until(self, moment: float) -> None:
        """Return at this moment of the stack's time, in epoch seconds, or as soon afterwards as nothing runs."""
        while (left_s := moment - self.stack.now()) > 0:
            self._let_run()
            self.stack.move_clock(min(STEP_S, left_s))
        self._let_run()

    def _let_run(self) -> None:
        """Wait until what is due now has been fetched, and has run."""
        looks = 0
        while (began := running_since(self.stack.invocation_log_path)) or (looks < LOOKS and self._is_due()):
            time.sleep(SLOW_PAUSE_S)
            if not began:
                looks += 1
            elif self.stack.now() - min(began) < LONGEST_RUN_S:
                self.stack.move_clock(SLOW_STEP_S)

    def _is_due(self) -> bool:
        return any(waiting(self.sqs, url) for url in self.queue_urls)


def count_schedules(stack: OfflineStack) -> int:
    """How many timers of anybody wait at the Scheduler."""
    return len(stack.client("scheduler").list_schedules()["Schedules"])


def waiting(sqs: "SQSClient", queue_url: str) -> int:
    """How many messages of a queue could be received now."""
    asked = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["ApproximateNumberOfMessages"])
    return int(asked["Attributes"]["ApproximateNumberOfMessages"])
