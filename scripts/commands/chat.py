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

from scripts.commands.choosing import OpenChoices
from scripts.commands.messages import MessageError, UserMessage, send
from scripts.commands.outputs import OutputReader
from scripts.commands.rendering import Screen
from scripts.commands.target import Target, TargetError, add_target_options, choose_target
from scripts.commands.terminal import harmless
from scripts.offline_stack.stack import DEFAULT_FOLDER

PAUSE_S = 0.3
_HOW_TO_ANSWER = {
    "user_choice_required": "a tool waits for you: scripts/enqueue --thread {thread} --choice {choice} --select NUMBER",
    "oauth_required": "a tool waits until you have signed in there; what comes then: scripts/chat --thread {thread}",
}
FUNCTIONS_LOG = DEFAULT_FOLDER / "log" / "functions.log"


def main(words: Sequence[str]) -> int:
    """Talk until the words of the command line are answered, or the user leaves. Returns the exit status."""
    arguments = _parser().parse_args(words)
    screen = Screen(Console(highlight=False), arguments.all)
    try:
        target = choose_target(arguments)
        reader = OutputReader(target.sqs, target.output_queue_url, arguments.thread)
        if arguments.text is not None:
            choices = OpenChoices()
            show_backlog(reader, screen, choices)
            say(target, choices.message_of(arguments.thread, arguments.text))
            log = FUNCTIONS_LOG if arguments.offline else None
            return 0 if follow_turn(reader, screen, arguments.wait, log) else 1
        converse(target, arguments.thread, reader, screen)
    except (MessageError, TargetError, BotoCoreError, ClientError) as error:
        screen.console.print(Text(f"error: {error}", style="red"))
        return 1
    return 0


def say(target: Target, message: UserMessage) -> None:
    """Send what the user says. Raises: MessageError; botocore's errors as they are."""
    send(target.sqs, target.input_queue_url, message)


def show_backlog(reader: OutputReader, screen: Screen, choices: OpenChoices) -> None:
    """Show what lies there from earlier, or the end of an old turn would be taken for that of the next."""
    while outputs := reader.read():
        for output in outputs:
            choices.see(output)
            screen.show(output)


def follow_turn(reader: OutputReader, screen: Screen, wait_s: float, log: Path | None = None) -> bool:
    """Show outputs until the root waits for a person, or an error that is not tried again ends its turn, or time is up.

    Returns whether it came to wait without such an error, within `wait_s`. `log` is where to look when nothing came.
    """
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        outputs = reader.read()
        for output in outputs:
            screen.show(output)
        of_root = [output for output in outputs if not output.is_of_child]
        if any(output.ends_turn_badly for output in of_root):
            return False
        if any(output.type == "turn_done" for output in of_root):
            return True
        asked = next((output for output in reversed(of_root) if output.type in _HOW_TO_ANSWER), None)
        if asked is not None:
            how = _HOW_TO_ANSWER[asked.type].format(thread=asked.thread_id, choice=asked.text_of("choice_id"))
            where_it_runs = " --offline" if log else ""
            screen.console.print(Text(harmless(how) + where_it_runs, style="dim"), soft_wrap=True)
            return True
        time.sleep(PAUSE_S)
    where = f"; see {log}" if log else ""
    screen.console.print(Text(f"no turn was done within {wait_s:.0f} s{where}", style="red"), soft_wrap=True)
    return False


def converse(
    target: Target, thread_id: str, reader: OutputReader, screen: Screen, type_line: Callable[[], str] = input
) -> None:
    """Send each line that is typed while outputs are shown as they come, until the end of input.

    Where a choice is open, its number answers it. `type_line` waits for the next one and raises EOFError at the end.

    Raises: MessageError; botocore's errors as they are, also when it is the outputs that cannot be read.
    """
    console, choices = screen.console, OpenChoices()
    console.print(Text(f"thread {thread_id}: type a line and Enter; Ctrl-D leaves", style="dim"))
    follower = _Follower(reader, screen, choices)
    # Also where a shell has interrupts ignored: the follower ends the waiting with one.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    follower.start()
    try:
        while True:
            line = type_line()
            if line.strip():
                say(target, choices.message_of(thread_id, line))
    except (EOFError, KeyboardInterrupt):
        if follower.error is not None:
            raise follower.error from None
        console.print(Text("left; the thread goes on without you", style="dim"))
    finally:
        follower.leave()
        signal.signal(signal.SIGINT, before)


class _Follower(threading.Thread):
    """Shows outputs as they come. When they cannot be read, `error` says why and the main thread is interrupted."""

    def __init__(self, reader: OutputReader, screen: Screen, choices: OpenChoices) -> None:
        super().__init__()
        self.error: BotoCoreError | ClientError | None = None
        self._reader = reader
        self._screen = screen
        self._choices = choices
        self._leaving = threading.Event()

    def run(self) -> None:
        try:
            while not self._leaving.is_set():
                for output in self._reader.read():
                    self._choices.see(output)
                    self._screen.show(output)
                self._leaving.wait(PAUSE_S)
        except (BotoCoreError, ClientError) as error:
            self.error = error
            if not self._leaving.is_set():
                # A real signal: nothing less ends the waiting for a line that is typed.
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def leave(self) -> None:
        self._leaving.set()
        self.join()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/chat",
        description="Talk to one thread of a deployment. Outputs of this thread are taken off the output queue.",
    )
    parser.add_argument("--thread", required=True, metavar="T", help="the conversation; a new name starts a new one")
    parser.add_argument("--text", help="say this, show what comes until the agent waits for somebody, and leave")
    parser.add_argument("--wait", type=_seconds, default=120, metavar="S", help="with --text: leave after S s (120)")
    parser.add_argument("--all", action="store_true", help="show what child threads do and say, too")
    add_target_options(parser)
    return parser


def _seconds(word: str) -> float:
    seconds = float(word)
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError("must be a number of seconds")
    return seconds
