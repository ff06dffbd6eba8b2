"""`scripts/redrive`: put messages that were given up back on the queue they came from, under the identity they had.

The console's redrive gives every message a new SQS id. A message without an id of its own is known by that id, so it
would be taken for a new one and could be answered twice. This writes the old id into the body first. Nothing else of it
changes; what was handled meanwhile is recognised and dropped. Bodies that nobody can read are left where they are.

A timer carries its message with the identity it is to have: put back as it is, it goes off at once if it is due.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console

from runtime.errors import InvalidMessage
from runtime.wire.timers import read_timer
from scripts.commands.listing import show_rows
from scripts.commands.target import Target, TargetError, add_target_options, choose_target

if TYPE_CHECKING:
    from types_boto3_sqs.client import SQSClient
    from types_boto3_sqs.type_defs import MessageTypeDef

# Time for one run to move what it has received; a run that dies gives it back after this.
HELD_S = 300
RECEIVE_LIMIT = 10

Fate = Literal["put back", "would be put back", "left: cannot be sent", "left: malformed", "deleted: malformed"]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message of the dead-letter queue. `reason` is set when it was parked as unreadable."""

    message_id: str
    handle: str
    thread_id: str
    body: str
    reason: str | None

    @property
    def body_with_identity(self) -> str:
        """The body, with the message's first SQS id in it unless it names its own."""
        fields = json.loads(self.body)
        if fields.get("message_id") is not None:
            return self.body
        # As compact as JSON can be: escapes would make a large body too large.
        return json.dumps({**fields, "message_id": self.message_id}, ensure_ascii=False, separators=(",", ":"))

    @property
    def own_id(self) -> str:
        """The id that its sender gave it; empty when there is none, or nobody can read it."""
        if not _is_object(self.body):
            return ""
        given = json.loads(self.body).get("message_id")
        return "" if given is None else str(given)

    @property
    def is_malformed(self) -> bool:
        """Whether it was parked. A parked body that filled its message had no room for the reason."""
        return self.reason is not None or not _is_object(self.body)

    @property
    def deduplication_id(self) -> str:
        """The same for every try to put this one back, so that a run which died is repeated without harm."""
        return hashlib.sha256(json.dumps(["redrive", self.message_id]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Options:
    dry_run: bool
    delete_malformed: bool
    limit: int


def main(words: Sequence[str]) -> int:
    """Move what the words of the command line ask for. Returns the exit status."""
    arguments = _parser().parse_args(words)
    options = Options(arguments.dry_run, arguments.delete_malformed, arguments.limit)
    try:
        target = choose_target(arguments)
        fates = [*redrive(target, options), *redrive_timers(target, options)]
    except (TargetError, BotoCoreError, ClientError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    _show(fates)
    return 0


def redrive(target: Target, options: Options) -> Iterator[tuple[DeadLetter, Fate]]:
    """Go through the dead-letter queue once, each thread in its order; yield what became of each message.

    A message is deleted there only after the input queue has it: one that is sent twice is recognised, one that is
    lost is not.
    """
    stopped: set[str] = set()  # threads of which one could not be sent: those behind it must not overtake it

    def put_back(letter: DeadLetter, _: "MessageTypeDef") -> bool:
        if letter.thread_id not in stopped and _put_back(target, letter):
            return True
        stopped.add(letter.thread_id)
        return False

    yield from _gone_through(target.sqs, target.outputs["InputDeadLetterQueueUrl"], _letter, put_back, options)


def redrive_timers(target: Target, options: Options) -> Iterator[tuple[DeadLetter, Fate]]:
    """Go through the timers' dead-letter queue once, as `redrive` does; whose timer it is has no say in the order."""

    def put_back(_: DeadLetter, message: "MessageTypeDef") -> bool:
        target.sqs.send_message(QueueUrl=target.outputs["TimerQueueUrl"], MessageBody=message["Body"])
        return True

    yield from _gone_through(target.sqs, target.outputs["TimerDeadLetterQueueUrl"], _timer_letter, put_back, options)


def _gone_through(
    sqs: "SQSClient",
    url: str,
    read: "Callable[[MessageTypeDef], DeadLetter]",
    put_back: "Callable[[DeadLetter, MessageTypeDef], bool]",
    options: Options,
) -> Iterator[tuple[DeadLetter, Fate]]:
    kept: list[DeadLetter] = []
    seen = 0
    try:
        while seen < options.limit and (messages := _messages(sqs, url, options.limit - seen)):
            seen += len(messages)
            for message in messages:
                letter = read(message)
                fate = _fate(letter, options)
                if fate == "put back" and not put_back(letter, message):
                    fate = "left: cannot be sent"
                if fate in ("put back", "deleted: malformed"):
                    sqs.delete_message(QueueUrl=url, ReceiptHandle=letter.handle)
                else:
                    kept.append(letter)
                yield letter, fate
    finally:
        _release(sqs, url, kept)


def _release(sqs: "SQSClient", url: str, letters: Sequence[DeadLetter]) -> None:
    for letter in letters:
        sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=letter.handle, VisibilityTimeout=0)


def _fate(letter: DeadLetter, options: Options) -> Fate:
    if letter.is_malformed:
        return "deleted: malformed" if options.delete_malformed and not options.dry_run else "left: malformed"
    return "would be put back" if options.dry_run else "put back"


def _messages(sqs: "SQSClient", url: str, limit: int) -> "list[MessageTypeDef]":
    answer = sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=min(limit, RECEIVE_LIMIT),
        VisibilityTimeout=HELD_S,
        MessageSystemAttributeNames=["MessageGroupId"],
        MessageAttributeNames=["reason"],
        WaitTimeSeconds=1,
    )
    return answer.get("Messages", [])


def _letter(message: "MessageTypeDef") -> DeadLetter:
    attribute = message.get("MessageAttributes", {}).get("reason")
    reason = attribute.get("StringValue") if attribute else None
    thread_id = message["Attributes"]["MessageGroupId"]
    return DeadLetter(message["MessageId"], message["ReceiptHandle"], thread_id, message["Body"], reason)


def _timer_letter(message: "MessageTypeDef") -> DeadLetter:
    """Return the message that the timer carries; of a body that is no timer, the body itself, and why."""
    message_id, handle, body = message["MessageId"], message["ReceiptHandle"], message["Body"]
    try:
        timer = read_timer(body)
    except InvalidMessage as error:
        return DeadLetter(message_id, handle, "", body, error.reason)
    return DeadLetter(message_id, handle, timer.group_id, timer.body, None)


def _put_back(target: Target, letter: DeadLetter) -> bool:
    """Send it, and return whether the queue took it."""
    try:
        target.sqs.send_message(
            QueueUrl=target.input_queue_url,
            MessageBody=letter.body_with_identity,
            MessageGroupId=letter.thread_id,
            MessageDeduplicationId=letter.deduplication_id,
        )
    except ClientError as error:
        print(f"message {letter.message_id} was not taken: {error}", file=sys.stderr)
        return False
    return True


def _is_object(body: str) -> bool:
    try:
        return isinstance(json.loads(body), dict)
    except ValueError:
        return False


def _show(fates: Sequence[tuple[DeadLetter, Fate]]) -> None:
    console = Console()
    if not fates:
        console.print("The dead-letter queues are empty.")
        return
    show_rows(
        ("thread", "SQS message id", "its own id", "what became of it", "why it could not be read"),
        [(each.thread_id, each.message_id, each.own_id, fate, each.reason or "") for each, fate in fates],
        console,
    )
    if any(fate == "left: malformed" for _, fate in fates):
        console.print(
            "What is behind a malformed message of its thread comes next time: --delete-malformed removes it."
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/redrive", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what lies there")
    parser.add_argument("--delete-malformed", action="store_true", help="delete bodies that nobody can read")
    parser.add_argument("--limit", type=int, default=10_000, metavar="N", help="at most so many messages")
    add_target_options(parser)
    return parser
