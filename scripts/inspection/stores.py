"""Reads what stands beside history: small state in DynamoDB, and how much lies on the queues."""

from collections.abc import Sequence
from dataclasses import dataclass

from runtime.adapters.aws.dynamodb import DynamoReceipts
from runtime.adapters.aws.dynamodb_choices import DynamoChoices, DynamoViews
from runtime.adapters.clock import SystemClock
from runtime.model.choices import View
from runtime.model.messages import MessageKey
from runtime.ports import Progress
from scripts.inspection.deployment import Deployment
from scripts.inspection.reading import Consumed

# One BatchGetItem takes 100 keys, and two of them are taken.
RECEIPTS_LOOKED_UP = 90
# What lies on one of these was given up: it stays until somebody acts.
DEAD_LETTERS = ("InputDeadLetterQueueUrl", "TimerDeadLetterQueueUrl")
QUEUES = ("InputQueueUrl", "OutputQueueUrl", "TimerQueueUrl", *DEAD_LETTERS)


@dataclass(frozen=True, slots=True)
class OpenChoice:
    """What a tool lets its user choose, and nobody has; without the address that takes the answer."""

    thread_id: str
    choice_id: str
    call_id: str
    prompt: str
    choices: tuple[str, ...]
    default: int


@dataclass(frozen=True, slots=True)
class Beside:
    """What is kept beside one thread's history; `looked_up` are the messages whose receipts `progress` may hold."""

    progress: Progress
    looked_up: frozenset[MessageKey]
    choices: tuple[OpenChoice, ...]
    views: tuple[View, ...]


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """About how many messages lie on a queue, as SQS counts them. `name` is that of the stack's output."""

    name: str
    waiting: int
    in_flight: int
    delayed: int

    @property
    def holds_given_up(self) -> bool:
        return self.name in DEAD_LETTERS and self.waiting + self.in_flight > 0


def read_beside(deployment: Deployment, thread_id: str, consumed: Sequence[Consumed]) -> Beside:
    """Read what is kept beside the thread; receipts are looked up for the newest of the messages it has consumed."""
    table, client = deployment.state_table, deployment.dynamodb
    # Its life is for writing receipts, which nobody does here.
    receipts = DynamoReceipts(client, table, SystemClock(), receipt_life_s=0)
    keys = [MessageKey(each.type, each.message_id) for each in consumed[-RECEIPTS_LOOKED_UP:]]
    return Beside(
        progress=receipts.read(thread_id, keys),
        looked_up=frozenset(keys),
        choices=open_choices(deployment, thread_id),
        views=DynamoViews(client, table).of_thread(thread_id),
    )


def open_choices(deployment: Deployment, thread_id: str) -> tuple[OpenChoice, ...]:
    """Read the thread's choices that nobody has answered or taken back."""
    kept = DynamoChoices(deployment.dynamodb, deployment.state_table).of_thread(thread_id)
    return tuple(
        OpenChoice(each.thread_id, each.choice_id, each.call_id, each.prompt, each.choices, each.default)
        for each in kept
    )


def queue_depths(deployment: Deployment) -> list[QueueDepth]:
    """Ask every queue of the deployment how much lies on it. Raises: botocore's errors as they are."""
    return [_depth(deployment, name) for name in QUEUES if name in deployment.target.outputs]


def _depth(deployment: Deployment, name: str) -> QueueDepth:
    answer = deployment.target.sqs.get_queue_attributes(
        QueueUrl=deployment.target.outputs[name],
        AttributeNames=[
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
            "ApproximateNumberOfMessagesDelayed",
        ],
    )
    counts = {key: int(value) for key, value in answer["Attributes"].items()}
    return QueueDepth(
        name,
        counts.get("ApproximateNumberOfMessages", 0),
        counts.get("ApproximateNumberOfMessagesNotVisible", 0),
        counts.get("ApproximateNumberOfMessagesDelayed", 0),
    )
