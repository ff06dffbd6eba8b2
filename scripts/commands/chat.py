"""`scripts/chat`: talk to one thread, and see what it says, does and is told by its tools."""

import argparse
import threading
import time
from collections.abc import Callable, Sequence

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.text import Text

from scripts.commands.messages import JsonValue, MessageError, TextMessage, send
from scripts.commands.outputs import Output, OutputReader
from scripts.commands.target import Target, TargetError, add_target_options, choose_target

PAUSE_S = 0.3
SHOWN_RESULT_CHARACTERS = 500


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
            return 0 if follow_turn(reader, console, arguments.wait) else 1
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


def follow_turn(reader: OutputReader, console: Console, wait_s: float) -> bool:
    """Show outputs until a turn of the root is done. Returns whether one was, within `wait_s`."""
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        outputs = reader.read()
        for output in outputs:
            console.print(render(output))
        if any(output.type == "turn_done" and output.thread_id == output.root_thread_id for output in outputs):
            return True
        time.sleep(PAUSE_S)
    console.print(Text(f"no turn was done within {wait_s:.0f} s", style="red"))
    return False


def converse(target: Target, thread_id: str, reader: OutputReader, console: Console) -> None:
    """Send each line that is typed while outputs are shown as they come, until the end of input."""
    console.print(Text(f"thread {thread_id}: type a line and Enter; Ctrl-D leaves", style="dim"))
    leaving = threading.Event()
    follower = threading.Thread(target=_keep_showing, args=(reader, console.print, leaving))
    follower.start()
    try:
        while True:
            line = input()
            if line.strip():
                say(target, thread_id, line)
    except (EOFError, KeyboardInterrupt):
        console.print(Text("left; the thread goes on without you", style="dim"))
    finally:
        leaving.set()
        follower.join()


def _keep_showing(reader: OutputReader, show: Callable[[Text], None], leaving: threading.Event) -> None:
    while not leaving.is_set():
        for output in reader.read():
            show(render(output))
        leaving.wait(PAUSE_S)


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
