"""`scripts/enqueue`: say one thing to a thread and return at once."""

import argparse
import sys
from collections.abc import Sequence

from botocore.exceptions import BotoCoreError, ClientError

from scripts.commands.messages import MessageError, TextMessage, parse_metadata, send
from scripts.commands.target import TargetError, add_target_options, choose_target


def main(words: Sequence[str]) -> int:
    """Send what the words of the command line ask for. Returns the exit status."""
    arguments = _parser().parse_args(words)
    try:
        message = TextMessage(
            thread_id=arguments.thread,
            text=arguments.text,
            message_id=arguments.message_id,
            metadata=None if arguments.metadata is None else parse_metadata(arguments.metadata),
        )
        target = choose_target(arguments)
        sent = send(target.sqs, target.input_queue_url, message)
    except (MessageError, TargetError, BotoCoreError, ClientError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"thread            {message.thread_id}")
    print(f"message id        {message.message_id or sent.sqs_message_id}")
    print(f"SQS message id    {sent.sqs_message_id}")
    print(f"deduplication id  {message.deduplication_id}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/enqueue")
    parser.description = "Send one text to a thread of a deployment, and print its ids. Does not wait for the answer."
    parser.add_argument("--thread", required=True, metavar="T", help="the conversation; a new name starts a new one")
    parser.add_argument("--text", required=True, help="what to say")
    parser.add_argument("--message-id", metavar="ID", help="an id of your own: sent twice, it is answered once")
    parser.add_argument("--metadata", metavar="JSON", help='an object kept with the conversation: {"user_id": "ada"}')
    add_target_options(parser)
    return parser
