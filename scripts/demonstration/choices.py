"""The choices scenario: what tools ask of their user, and every way in which it is answered or comes to nothing.

The answers go out by the code of `scripts/chat` and of `scripts/enqueue`.
"""

import uuid
from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from scripts.commands import enqueue
from scripts.commands.choosing import OpenChoices
from scripts.commands.messages import ChoiceAnswer
from scripts.commands.outputs import Output
from scripts.commands.target import offline_target
from scripts.demonstration.choices_verdicts import Asked, judge_choices
from scripts.demonstration.configured import tool_server_at
from scripts.demonstration.kept import read_counted, read_kept
from scripts.demonstration.scenarios import Conversation, ScenarioError, new_thread_id, shown_conversation, slices_since
from scripts.demonstration.scripting import calls, says, scripted
from scripts.demonstration.talks import left_behind
from scripts.demonstration.verdicts import Verdict
from scripts.offline_stack.stack import OfflineStack
from scripts.storming.account import wait_until_handled

TITLE = "tools let their user choose and sign in; each answer counts once, and what is no longer asked is taken back"
QUESTION = "Ask me: tea, coffee or water?"
INTERRUPTION = "Meanwhile, what time is it in Tokyo?"
CANCELLATION = scripted("Never mind.", calls("cancel_tool_call", tool_call_id="<call ask>"), says("I ask no more."))
SHOWING = scripted("Show me how far it is.", calls("progress", percent=40), says("It is shown."))
PATIENCE_S = 60.0

LOGIN = scripted("Please sign me in.", calls("login", seconds=8))
NAMES = ("login", "chat", "enqueue", "out of range", "interrupted", "cancelled", "view")
STRANGER = "stranger"

Talks = Mapping[str, Conversation]


def run_choices(stack: OfflineStack, console: Console) -> Verdict:
    """Play one conversation after the other, last that whose tool server says that it is elsewhere, and judge."""
    target, began_at = offline_target(stack), stack.now()
    talks = {name: shown_conversation(stack, target, console, new_thread_id("choices")) for name in (*NAMES, STRANGER)}
    try:
        _play(talks)
        wait_until_handled(stack, target, PATIENCE_S)
        with tool_server_at(stack, stack.endpoint.replace("127.0.0.1", "localhost")):
            _play_stranger(talks[STRANGER])
            wait_until_handled(stack, target, PATIENCE_S)
    except ScenarioError as error:
        console.print(Text(f"error: {error}", style="red"))
    slices = slices_since(stack, began_at)
    return judge_choices({name: _left(stack, talk) for name, talk in talks.items()}, len(slices))


def _play(talks: Talks) -> None:
    """One after the other: each call beside another one would have a process begin."""
    talks["login"].say(LOGIN)
    talks["login"].wait_for("oauth_required")
    _answer_by_chat(talks["chat"], _asked(talks["chat"]), "2")
    talks["chat"].wait_for("turn_done")
    _answer_as_another_client(talks["chat"], _choice_in(talks["chat"]), 1)
    for name, number in (("enqueue", 3), ("out of range", 9)):
        _answer_by_enqueue(talks[name], _asked(talks[name]), number)
        talks[name].wait_for("turn_done")
    _interrupt(talks["interrupted"], INTERRUPTION, 2)
    talks["interrupted"].wait_for("turn_done")
    _interrupt(talks["cancelled"], CANCELLATION, 1)
    talks["view"].say(SHOWING)
    talks["view"].wait_for("turn_done")


def _asked(talk: Conversation) -> Output:
    """Have the agent ask, and return the choice."""
    talk.say(QUESTION)
    talk.wait_for("user_choice_required")
    return _choice_in(talk)


def _interrupt(talk: Conversation, words: str, number: int) -> None:
    """Say something else while the choice is open, and answer it when that is done."""
    asked = _asked(talk)
    talk.say(words)
    talk.wait_for("turn_done")
    _answer_by_enqueue(talk, asked, number)


def _play_stranger(talk: Conversation) -> None:
    _answer_by_enqueue(talk, _asked(talk), 1)
    talk.wait_for("error")


def _choice_in(talk: Conversation) -> Output:
    return next(output for output in talk.outputs if output.type == "user_choice_required")


def _answer_by_chat(talk: Conversation, asked: Output, line: str) -> None:
    choices = OpenChoices()
    choices.see(asked)
    talk.send(choices.message_of(talk.thread_id, line))


def _answer_by_enqueue(talk: Conversation, asked: Output, number: int) -> None:
    words = ["--thread", talk.thread_id, "--choice", asked.text_of("choice_id"), "--select", str(number)]
    talk.send(enqueue.message_of(enqueue.parser().parse_args(words)))


def _answer_as_another_client(talk: Conversation, asked: Output, number: int) -> None:
    """One that names the message as it likes: for the queue it is another one."""
    message = ChoiceAnswer(talk.thread_id, asked.text_of("choice_id"), number)
    talk.target.sqs.send_message(
        QueueUrl=talk.target.input_queue_url,
        MessageBody=message.body,
        MessageGroupId=talk.thread_id,
        MessageDeduplicationId=uuid.uuid4().hex,
    )


def _left(stack: OfflineStack, talk: Conversation) -> Asked:
    return Asked(
        left_behind(talk, stack),
        read_kept(stack, talk.thread_id),
        read_counted(stack.invocation_log_path, talk.thread_id),
    )
