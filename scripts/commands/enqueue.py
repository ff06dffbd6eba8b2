"""`scripts/enqueue`: say one thing to a thread, or answer what it lets its user choose, and return at once."""

import argparse
import sys
from collections.abc import Sequence

from botocore.exceptions import BotoCoreError, ClientError

from scripts.commands.messages import ChoiceAnswer, MessageError, TextMessage, UserMessage, parse_metadata, send
from scripts.commands.target import TargetError, add_target_options, choose_target


def main(words: Sequence[str]) -> int:
    """Send what the words of the command line ask for. Returns the exit status."""
    arguments = parser().parse_args(words)
    try:
        message = message_of(arguments)
        target = choose_target(arguments)
        sqs_message_id = send(target.sqs, target.input_queue_url, message)
    except (MessageError, TargetError, BotoCoreError, ClientError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"thread            {message.thread_id}")
    print(f"message id        {message.message_id or sqs_message_id}")
    print(f"SQS message id    {sqs_message_id}")
    print(f"deduplication id  {message.deduplication_id}")
    return 0


def message_of(arguments: argparse.Namespace) -> UserMessage:
    """Return what the words of the command line say. Raises: MessageError."""
    if arguments.choice is None:
        if arguments.select is not None:
            raise MessageError("--select goes with --choice")
        metadata = None if arguments.metadata is None else parse_metadata(arguments.metadata)
        return TextMessage(arguments.thread, arguments.text, arguments.message_id, metadata)
    if arguments.select is None:
        raise MessageError("--choice needs --select: which one?")
    if arguments.message_id is not None or arguments.metadata is not None:
        raise MessageError("--message-id and --metadata go with --text: an answer is known by its choice")
    return ChoiceAnswer(arguments.thread, arguments.choice, arguments.select)


def parser() -> argparse.ArgumentParser:
    asked = argparse.ArgumentParser(prog="scripts/enqueue")
    asked.description = (
        "Send one text, or what is chosen, to a thread of a deployment, and print its ids. Returns at once."
    )
    asked.add_argument("--thread", required=True, metavar="T", help="the conversation; a new name starts a new one")
    said = asked.add_mutually_exclusive_group(required=True)
    said.add_argument("--text", help="what to say")
    said.add_argument("--choice", metavar="ID", help="the choice to answer, as its output names it")
    asked.add_argument("--select", type=int, metavar="N", help="with --choice: which one, counted from 1")
    asked.add_argument("--message-id", metavar="ID", help="an id of your own: sent twice, it is answered once")
    asked.add_argument("--metadata", metavar="JSON", help='an object kept with the conversation: {"user_id": "ada"}')
    add_target_options(asked)
    return asked
