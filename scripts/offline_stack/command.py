"""`scripts/offline`: the local stack for people. up | down | status | env."""

import argparse
import json
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from scripts.commands.stopping import Stopped, stoppable
from scripts.offline_stack.stack import OfflineStack
from scripts.offline_stack.supervisor import StackError

# Progress goes to standard error: standard output carries only what another program may read.
CONSOLE = Console(stderr=True, highlight=False)


def main(words: Sequence[str]) -> int:
    """Run one command. Returns 0, or 1 with one clear message when it could not be done."""
    arguments = _parser().parse_args(words)
    stack = OfflineStack(context=dict(arguments.context) if "context" in arguments else None, progress=show_step)
    commands = {"up": _up, "down": _down, "status": _status, "env": _environment}
    try:
        with stoppable():
            return commands[arguments.command](stack, arguments)
    except StackError as error:
        CONSOLE.print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        return 1
    except Stopped as stopped:
        CONSOLE.print("stopped; scripts/offline down removes what is left")
        return stopped.status


@contextmanager
def show_step(title: str) -> Iterator[None]:
    """Show a step while it runs, and what it took when it is done."""
    started = time.monotonic()
    with CONSOLE.status(f"{title} …"):
        yield
    CONSOLE.print(f"{time.monotonic() - started:6.1f} s  {title}")


def _up(stack: OfflineStack, arguments: argparse.Namespace) -> int:
    started = time.monotonic()
    stack.up(keep_data=arguments.keep_data)
    CONSOLE.print(f"{time.monotonic() - started:6.1f} s  in all; the stack is up", style="bold")
    if arguments.json:
        print(json.dumps({"endpoint": stack.endpoint, "outputs": dict(stack.outputs)}))
    else:
        CONSOLE.print(
            'next: eval "$(scripts/offline env)", or scripts/chat --offline --thread T; scripts/offline down ends it'
        )
    return 0


def _down(stack: OfflineStack, arguments: argparse.Namespace) -> int:
    stack.down(keep_data=arguments.keep_data)
    CONSOLE.print("the stack is down")
    return 0


def _status(stack: OfflineStack, arguments: argparse.Namespace) -> int:
    """Show every piece. Returns 0 only when all of them run."""
    pieces = stack.status()
    if arguments.json:
        print(json.dumps({name: piece and asdict(piece) for name, piece in pieces.items()}))
    else:
        table = Table("piece", "process", "port")
        for name, piece in pieces.items():
            table.add_row(name, str(piece.identity.pid) if piece else "-", str(piece.port or "-") if piece else "-")
        Console().print(table)
    return 0 if all(pieces.values()) else 1


def _environment(stack: OfflineStack, arguments: argparse.Namespace) -> int:
    environment = stack.environment
    if arguments.json:
        print(json.dumps(environment))
    else:
        print("unset AWS_PROFILE AWS_SESSION_TOKEN")
        for name, value in environment.items():
            print(f"export {name}={shlex.quote(value)}")
        # Version 1 replaces the endpoint of SQS before it looks at the environment (aws/aws-cli, issue 8737).
        CONSOLE.print('AWS CLI 1.x ignores AWS_ENDPOINT_URL for sqs: add --endpoint-url "$AWS_ENDPOINT_URL" there')
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/offline", description="The whole deployment on this machine.")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start everything, deploy this checkout; again: deploy it again")
    up.add_argument("--keep-data", action="store_true", help="keep the database of the last stack")
    up.add_argument(
        "--context",
        action="append",
        default=[],
        type=_name_and_value,
        metavar="NAME=VALUE",
        help="NAME=VALUE of the CDK's context, e.g. tool_servers=[…]; may be repeated",
    )
    down = commands.add_parser("down", help="stop everything; the logs stay")
    down.add_argument("--keep-data", action="store_true", help="keep the database for the next stack")
    commands.add_parser("status", help="what runs, and where")
    commands.add_parser("env", help='variables for a shell: eval "$(scripts/offline env)"')
    for command in commands.choices.values():
        command.add_argument("--json", action="store_true", help="for programs")
    return parser


def _name_and_value(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
