"""The scenarios: what the user says, and what is waited for before the next word."""

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from scripts.commands.messages import JsonObject, TextMessage, UserMessage, send
from scripts.commands.outputs import Output, OutputReader
from scripts.commands.rendering import render, render_user
from scripts.commands.target import Target
from scripts.demonstration.evidence import (
    FUNCTION_OUTPUTS,
    Evidence,
    Invocation,
    count_running,
    read_calls,
    read_entries,
    read_invocations,
    read_requests,
)
from scripts.demonstration.scripting import in_plain_words
from scripts.demonstration.verdicts import Verdict, judge_basic, judge_interrupt
from scripts.offline_stack.model_endpoint.script import without_scripts
from scripts.offline_stack.stack import OfflineStack

PAUSE_S = 0.1
PATIENCE_S = 60.0
# The last functions end, and write their last log line, shortly after their outputs are there.
SETTLING_S = 5.0

BASIC_BUILD_S = 5
INTERRUPT_BUILD_S = 10


class ScenarioError(Exception):
    """What was waited for did not come."""


@dataclass
class Conversation:
    """One thread of the demo: says things, and collects what comes back. `now` is the time of the deployment."""

    target: Target
    thread_id: str
    on_output: Callable[[Output], None]
    on_word: Callable[[Text], None]
    now: Callable[[], float]
    began_at: float = field(init=False)
    said: list[tuple[float, str]] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    _reader: OutputReader = field(init=False)

    def __post_init__(self) -> None:
        self.began_at = self.now()
        self._reader = OutputReader(self.target.sqs, self.target.output_queue_url, self.thread_id)

    def say(self, text: str, message_id: str | None = None, metadata: JsonObject | None = None) -> str:
        """Say it, and return the id of its message in SQS; what is shown of it is without the script for the model."""
        words = without_scripts(text)
        self.said.append((self.now(), words))
        self.on_word(render_user(words))
        return self.send(TextMessage(self.thread_id, text, message_id, metadata))

    def send(self, message: UserMessage) -> str:
        return send(self.target.sqs, self.target.input_queue_url, message)

    def wait_for(self, output_type: str, times: int = 1) -> None:
        """Collect until there are `times` more outputs of a type. Raises: ScenarioError after a minute."""
        wanted = self._count(output_type) + times
        self.wait_until(lambda: self._count(output_type) >= wanted, f"no {output_type} came")

    def wait_until(self, is_so: Callable[[], bool], otherwise: str) -> None:
        """Collect until it is so. Raises: ScenarioError after a minute, with what is `otherwise` the case."""
        deadline = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > deadline:
                raise ScenarioError(f"{otherwise} within {PATIENCE_S:.0f} s")
            self.collect()
            time.sleep(PAUSE_S)

    def collect(self) -> None:
        """Take what has come so far, all of it."""
        while outputs := self._reader.read():
            self.outputs += outputs
            for output in outputs:
                self.on_output(output)

    def _count(self, output_type: str) -> int:
        return sum(output.type == output_type for output in self.outputs)


def play_basic(conversation: Conversation) -> None:
    """Say hello, then ask for a build and wait for what the agent makes of its result."""
    conversation.say("Hello, who are you?")
    conversation.wait_for("turn_done")
    conversation.say(f"Please build for {BASIC_BUILD_S} seconds.")
    conversation.wait_for("tool_call")
    conversation.wait_for("turn_done")


def play_interrupt(conversation: Conversation) -> None:
    """Ask for a build, ask something else while it runs, and wait for both answers."""
    conversation.say(f"Please build for {INTERRUPT_BUILD_S} seconds.")
    conversation.wait_for("tool_call")
    conversation.say("Meanwhile, what time is it in Tokyo?")
    conversation.wait_for("turn_done")
    conversation.wait_for("turn_done")


@dataclass(frozen=True, slots=True)
class Scenario:
    title: str
    play: Callable[[Conversation], None]
    judge: Callable[[Evidence], Verdict]


SCENARIOS: Mapping[str, Scenario] = {
    "basic": Scenario(
        "a message, an answer, a slow tool while nothing runs, and an answer that quotes its result",
        play_basic,
        lambda evidence: judge_basic(evidence, BASIC_BUILD_S),
    ),
    "interrupt": Scenario(
        "a question while a tool is at work is answered at once; the tool's result comes by itself",
        play_interrupt,
        lambda evidence: judge_interrupt(evidence, INTERRUPT_BUILD_S),
    ),
}


def shown_conversation(stack: OfflineStack, target: Target, console: Console, thread_id: str) -> Conversation:
    """A conversation whose words and outputs are shown as they come, without scripts."""
    show: Callable[[Text], None] = console.print
    return Conversation(target, thread_id, lambda each: show(render(in_plain_words(each))), show, stack.now)


def new_thread_id(scenario: str) -> str:
    return f"demo-{scenario}-{uuid.uuid4().hex[:8]}"


def wait_until_idle(stack: OfflineStack) -> None:
    """Return when no function runs, or when `SETTLING_S` have passed."""
    deadline = time.monotonic() + SETTLING_S
    while count_running(stack.invocation_log_path) and time.monotonic() < deadline:
        time.sleep(PAUSE_S)


def slices_since(stack: OfflineStack, moment: float) -> list[Invocation]:
    """The invocations of the slice function that began after this moment and have ended, in order."""
    return read_invocations(stack.invocation_log_path, {stack.outputs[FUNCTION_OUTPUTS["slice"]]: "slice"}, moment)


def collect_evidence(stack: OfflineStack, conversation: Conversation) -> Evidence:
    """Everything the conversation left behind, once the last functions have ended."""
    wait_until_idle(stack)
    conversation.collect()
    function_names = {stack.outputs[output]: part for part, output in FUNCTION_OUTPUTS.items()}
    return Evidence(
        entries=read_entries(stack.database_dsn, conversation.thread_id),
        calls=read_calls(stack.database_dsn, conversation.thread_id),
        outputs=conversation.outputs,
        invocations=read_invocations(stack.invocation_log_path, function_names, conversation.began_at),
        requests=read_requests(stack.model_log_path, conversation.began_at),
    )
