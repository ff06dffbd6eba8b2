"""Reads what a storm left behind: rows, messages, and the logs of the emulator and of the wire."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from scripts.commands.outputs import Output, read_output
from scripts.commands.target import Target
from scripts.demonstration.crash_evidence import read_sightings
from scripts.demonstration.evidence import StoredEntry, count_running
from scripts.demonstration.scenarios import slices_since
from scripts.offline_stack.interposers.watch import Kill
from scripts.offline_stack.stack import OfflineStack
from scripts.storming.aftermath import WITHHELD, Losses, as_readers_see_them, count_losses, ids_with_several_bodies
from scripts.storming.storm import Plan, by_moment

if TYPE_CHECKING:
    from types_boto3_sqs.client import SQSClient
    from types_boto3_sqs.literals import QueueAttributeNameType

PAUSE_S = 0.5
NOT_YET_HANDLED: "tuple[QueueAttributeNameType, ...]" = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


@dataclass(frozen=True, slots=True)
class Storm:
    """What was done: when it began (epoch seconds), who was killed, how long it then took until all was handled.

    `left`: messages and invocations that were still about when patience ended.
    """

    plan: Plan
    began_at: float
    kills: Sequence[Kill]
    calm_after_s: float
    left: int


@dataclass(frozen=True, slots=True)
class Account:
    """What came of it. `hits`: invocations of the slice that failed, by the emulator's own record.

    `slices` counts invocations, `resent` outputs that were sent again, `two_bodies` ids of outputs that were sent with
    different bodies, `dead_letters` messages that were given up.
    """

    plan: Plan
    kills: int
    hits: int
    moments: Mapping[str, int]
    slices: int
    losses: Losses
    outputs: int
    resent: int
    two_bodies: int
    dead_letters: int
    left: int
    calm_after_s: float

    @property
    def enough_hits(self) -> bool:
        """A process runs one invocation at a time, so more failures than kills would have another cause."""
        return self.plan.enough_hits <= self.hits <= self.kills

    @property
    def ok(self) -> bool:
        return self.losses.none and self.enough_hits and not (self.two_bodies or self.dead_letters or self.left)

    def to_json(self) -> str:
        return json.dumps({"ok": self.ok, **asdict(self)}, indent=2) + "\n"


def wait_until_handled(stack: OfflineStack, target: Target, patience_s: float) -> int:
    """Return when every message has been handled, or when patience ends, with how many are left."""
    deadline = time.monotonic() + patience_s
    while left := count_waiting(target.sqs, target.input_queue_url) + count_running(stack.invocation_log_path):
        if time.monotonic() > deadline:
            return left
        time.sleep(PAUSE_S)
    return 0


def take_account(storm: Storm, stack: OfflineStack, target: Target, wire_log: Path) -> Account:
    """Count. The outputs are taken off their queue."""
    plan = storm.plan
    seen = as_readers_see_them(take_outputs(target.sqs, target.output_queue_url))
    histories = _histories(stack.database_dsn, plan)
    losses = [count_losses(plan.texts_of(each), histories[each], seen.get(each, ())) for each in plan.thread_ids]
    slices = slices_since(stack, storm.began_at)
    sendings = [
        sighting.outputs
        for sighting in read_sightings(wire_log, storm.began_at)
        if sighting.moment == ("send outputs", "passed on")
    ]
    ids = {output_id for sending in sendings for output_id in sending}
    return Account(
        plan=plan,
        kills=len(storm.kills),
        hits=sum(each.failed for each in slices),
        moments=by_moment(storm.kills),
        slices=len(slices),
        losses=sum(losses, Losses()),
        outputs=len(ids),
        resent=sum(map(len, sendings)) - len(ids),
        two_bodies=ids_with_several_bodies(sendings),
        dead_letters=count_waiting(target.sqs, target.outputs["InputDeadLetterQueueUrl"]),
        left=storm.left,
        calm_after_s=round(storm.calm_after_s, 1),
    )


def _histories(database_dsn: str, plan: Plan) -> dict[str, list[StoredEntry]]:
    """By thread, in order. An entry that is withheld from the model counts as one of a kind of its own."""
    found: dict[str, list[StoredEntry]] = {thread_id: [] for thread_id in plan.thread_ids}
    with psycopg.connect(database_dsn) as connection:
        rows = connection.execute(
            "SELECT thread_id, position, kind, body, withheld FROM infinity.entries"
            " WHERE thread_id = ANY(%s) ORDER BY thread_id, position",
            (plan.thread_ids,),
        )
        for thread_id, position, kind, body, withheld in rows:
            found[thread_id].append(StoredEntry(position, WITHHELD if withheld else kind, json.loads(body)))
    return found


def count_waiting(sqs: "SQSClient", queue_url: str) -> int:
    """How many messages a queue keeps, also those that somebody holds just now."""
    counts = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=list(NOT_YET_HANDLED))["Attributes"]
    return sum(map(int, counts.values()))


def take_outputs(sqs: "SQSClient", queue_url: str) -> Iterator[Output]:
    """Everything that is on the queue, as often as it is there. It is taken off."""
    while messages := sqs.receive_message(
        QueueUrl=queue_url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["SentTimestamp"]
    ).get("Messages", []):
        for message in messages:
            yield read_output(message["Body"], int(message["Attributes"]["SentTimestamp"]) / 1000)
        sqs.delete_message_batch(
            QueueUrl=queue_url,
            Entries=[
                {"Id": str(place), "ReceiptHandle": message["ReceiptHandle"]} for place, message in enumerate(messages)
            ],
        )
