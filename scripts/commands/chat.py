"""`scripts/chat`: talk to one thread, and see what it says, does and is told by its tools."""

import argparse
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.text import Text

from scripts.commands.messages import JsonValue, MessageError, TextMessage, send
from scripts.commands.outputs import Output, OutputReader
from scripts.commands.target import Target, TargetError, add_target_options, choose_target
from scripts.offline_stack.stack import DEFAULT_FOLDER

PAUSE_S = 0.3
SHOWN_RESULT_CHARACTERS = 500
FUNCTIONS_LOG = DEFAULT_FOLDER / "log" / "functions.log"


def main(words: Sequence[str]) -> int:
    """Talk until the words of the command line are answered, or the user leaves. Returns the exit status."""
    arguments = _parser().parse_args(words)
    console = Console(highlight=False)
    try:
        target = choose_target(arguments)
        reader = OutputReader(target.sqs, target.output_queue_url, arguments.thread)
        if arguments.text is not None:
            show_backlog(reader, console)
            say(target, arguments.thread, arguments.text)
            log = FUNCTIONS_LOG if arguments.offline else None
            return 0 if follow_turn(reader, console, arguments.wait, log) else 1
        converse(target, arguments.thread, reader, console)
    except (MessageError, TargetError, BotoCoreError, ClientError) as error:
        console.print(Text(f"error: {error}", style="red"))
        return 1
    return 0


def say(target: Target, thread_id: str, text: str) -> None:
    """Send one text of the user. Raises: MessageError; botocore's errors as they are."""
    send(target.sqs, target.input_queue_url, TextMessage(thread_id, text))


def show_backlog(reader: OutputReader, console: Console) -> None:
    """Show what lies there from earlier, or the end of an old turn would be taken for that of the next."""
    while outputs := reader.read():
        for output in outputs:
            console.print(render(output))


def follow_turn(reader: OutputReader, console: Console, wait_s: float, log: Path | None = None) -> bool:
    """Show outputs until a turn of the root is done, or an error that is not tried again ends it, or time is up.

    Returns whether it was done without such an error, within `wait_s`. `log` is where to look when nothing came.
    """
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        outputs = reader.read()
        for output in outputs:
            console.print(render(output))
        of_root = [output for output in outputs if output.thread_id == output.root_thread_id]
        if any(output.type == "error" and not output.fields.get("retrying") for output in of_root):
            return False
        if any(output.type == "turn_done" for output in of_root):
            return True
        time.sleep(PAUSE_S)
    where = f"; see {log}" if log else ""
    console.print(Text(f"no turn was done within {wait_s:.0f} s{where}", style="red"), soft_wrap=True)
    return False


def converse(
    target: Target, thread_id: str, reader: OutputReader, console: Console, type_line: Callable[[], str] = input
) -> None:
    """Send each line that is typed while outputs are shown as they come, until the end of input.

    `type_line` waits for the next one and raises EOFError at the end.

    Raises: MessageError; botocore's errors as they are, also when it is the outputs that cannot be read.
    """
    console.print(Text(f"thread {thread_id}: type a line and Enter; Ctrl-D leaves", style="dim"))
    follower = _Follower(reader, console.print)
    follower.start()
    try:
        while True:
            line = type_line()
            if line.strip():
                say(target, thread_id, line)
    except (EOFError, KeyboardInterrupt):
        if follower.error is not None:
            raise follower.error from None
        console.print(Text("left; the thread goes on without you", style="dim"))
    finally:
        follower.leave()


class _Follower(threading.Thread):
    """Shows outputs as they come. When they cannot be read, `error` says why and the main thread is interrupted."""

    def __init__(self, reader: OutputReader, show: Callable[[Text], None]) -> None:
        super().__init__()
        self.error: BotoCoreError | ClientError | None = None
        self._reader = reader
        self._show = show
        self._leaving = threading.Event()

    def run(self) -> None:
        try:
            while not self._leaving.is_set():
                for output in self._reader.read():
                    self._show(render(output))
                self._leaving.wait(PAUSE_S)
        except (BotoCoreError, ClientError) as error:
            self.error = error
            if not self._leaving.is_set():
                # A real signal: nothing less ends the waiting for a line that is typed.
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def leave(self) -> None:
        self._leaving.set()
        self.join()


def render(output: Output) -> Text:
    """One output as a line for people. The output's own text is never read as markup."""
    prefix = "" if output.thread_id == output.root_thread_id else f"[{output.thread_id}] "
    match output.type:
        case "text":
            return Text.assemble((f"{prefix}agent  ", "bold green"), output.text_of("text"))
        case "tool_call":
            call = f"{output.text_of('name')} {output.text_of('arguments')}"
            return Text.assemble((f"{prefix}calls  ", "bold cyan"), call)
        case "tool_result":
            return Text.assemble((f"{prefix}result ", "cyan"), output.text_of("display")[:SHOWN_RESULT_CHARACTERS])
        case "error":
            retrying = " (trying again)" if output.fields.get("retrying") else ""
            said = f"{output.text_of('code')}: {output.text_of('message')}{retrying}"
            return Text.assemble((f"{prefix}error  ", "bold red"), said)
        case "turn_done":
            return Text(f"{prefix}turn done{_tokens(output.fields.get('usage'))}", style="dim")
        case other:
            return Text(f"{prefix}{other}", style="magenta")


def render_user(text: str) -> Text:
    """What the user said, as a line beside those of `render`."""
    return Text.assemble(("user   ", "bold"), text)


def _tokens(usage: JsonValue) -> str:
    if not isinstance(usage, dict):
        return ""
    return ", " + ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in usage.items() if count)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/chat",
        description="Talk to one thread of a deployment. Outputs of this thread are taken off the output queue.",
    )
    parser.add_argument("--thread", required=True, metavar="T", help="the conversation; a new name starts a new one")
    parser.add_argument("--text", help="say this, show what comes until a turn is done, and leave")
    parser.add_argument("--wait", type=float, default=120, metavar="S", help="with --text: give up after S seconds")
    add_target_options(parser)
    return parser
