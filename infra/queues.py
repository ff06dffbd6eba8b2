"""The FIFO queues a message travels on: in, out, and aside when it cannot be handled."""

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import QueueConfig


class MessageQueues(Construct):
    """The input queue with its dead letters, and the output queue.

    FIFO in high-throughput mode: message groups (threads) are served side by side, and deduplication is judged within a
    group, so two threads may use the same id. Content-based deduplication is off: it would swallow a user's second
    "yes" within five minutes.
    """

    def __init__(self, scope: Construct, construct_id: str, *, config: QueueConfig) -> None:
        super().__init__(scope, construct_id)
        retention = Duration.days(config.retention_days)
        self.dead_letters = self._fifo("InputDeadLetters", retention=retention)
        self.input = self._fifo(
            "Input",
            retention=retention,
            visibility=Duration.seconds(config.visibility_s),
            dead_letters=sqs.DeadLetterQueue(max_receive_count=config.max_receive_count, queue=self.dead_letters),
        )
        self.output = self._fifo("Output", retention=Duration.days(config.output_retention_days))

    def _fifo(
        self,
        construct_id: str,
        *,
        retention: Duration,
        visibility: Duration | None = None,
        dead_letters: sqs.DeadLetterQueue | None = None,
    ) -> sqs.Queue:
        return sqs.Queue(
            self,
            construct_id,
            fifo=True,
            content_based_deduplication=False,
            deduplication_scope=sqs.DeduplicationScope.MESSAGE_GROUP,
            fifo_throughput_limit=sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
            retention_period=retention,
            visibility_timeout=visibility,
            dead_letter_queue=dead_letters,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
        )
