"""The threads scenario: ten children report while their parent waits for a slow tool and a subscription fires."""

from rich.console import Console, RenderableType
from rich.text import Text

from scripts.commands.messages import JsonValue
from scripts.commands.target import offline_target
from scripts.demonstration.configured import slices_at_once
from scripts.demonstration.evidence import Evidence
from scripts.demonstration.families import Family, read_family
from scripts.demonstration.scenarios import (
    Conversation,
    ScenarioError,
    collect_evidence,
    new_thread_id,
    shown_conversation,
)
from scripts.demonstration.scripting import calls, closes, in_plain_words, late, reports, says, scripted, spawns
from scripts.demonstration.threads_verdicts import CLOSING, LEAVING, LISTENING, METADATA, Tree, judge_threads
from scripts.demonstration.timeline import draw
from scripts.demonstration.verdicts import Verdict
from scripts.offline_stack.stack import OfflineStack
from scripts.storming.account import wait_until_handled

TITLE = "ten threads and two below them report while a build runs and a clock ticks; all of it arrives, once, in order"
BUILD_S, TICKS = 8, 4
# In what order the root starts them: by these places it speaks of its children.
PLAIN, WITH_CHILD, CLOSES, SILENT, LISTENS, LEAVES = 4, 2, 1, 1, 9, 10
# For so long the one that leaves is at its last turn, and hears nothing.
LEAVING_S = 10.0
PATIENCE_S = 60.0
AT_ONCE = 4


def run_threads(stack: OfflineStack, console: Console) -> Verdict:
    """Play it, show it, and judge. What did not come is judged, too."""
    conversation = shown_conversation(stack, offline_target(stack), console, new_thread_id("threads"))
    with slices_at_once(stack, AT_ONCE):
        try:
            _play(conversation)
        except ScenarioError as error:
            console.print(Text(f"error: {error}", style="red"))
        wait_until_handled(stack, conversation.target, PATIENCE_S)
    evidence = collect_evidence(stack, conversation)
    family = read_family(stack.database_dsn, conversation.thread_id, conversation.outputs)
    console.print(_lanes(evidence, family, conversation, console.width))
    return judge_threads(Tree(family, evidence, conversation.outputs, TICKS))


def _play(conversation: Conversation) -> None:
    conversation.say(_first_words(conversation.thread_id), metadata=METADATA)
    conversation.wait_until(
        lambda: (
            {LISTENING, LEAVING} <= {each.text_of("text") for each in conversation.outputs if each.type == "report"}
        ),
        "the threads that are spoken to were not ready",
    )
    conversation.say(
        scripted(
            "Tell the last two that it rains.",
            calls("send_message_to_child", thread_id=f"<child {LEAVES}>", message="It rains."),
            calls("send_message_to_child", thread_id=f"<child {LISTENS}>", message="It rains."),
            says("Both are told."),
        )
    )


def _first_words(root_id: str) -> str:
    stack: list[JsonValue] = [root_id]
    below = spawns("<stack>", "Look below.", closes("There was nothing below <self>."))
    with_child = (below, reports("One looks below."), says("I wait."), reports("I heard: <news>"), closes())
    return scripted(
        "Watch the clock, have ten threads look around, and build meanwhile.",
        calls("watch", events=TICKS, interval_s=1, associative=True),
        *[
            spawns(stack, "Look twice.", reports("Once."), reports("Twice."), says("That is all."))
            for _ in range(PLAIN)
        ],
        *[spawns(stack, "Have another one look below.", *with_child) for _ in range(WITH_CHILD)],
        *[spawns(stack, "Look, and be done.", closes(CLOSING)) for _ in range(CLOSES)],
        *[spawns(stack, "Look, and say nothing.", says("Nothing to say.")) for _ in range(SILENT)],
        spawns(stack, "Listen.", reports(LISTENING), says("I listen."), reports("I was told: <news>"), closes()),
        spawns(stack, "Leave soon.", reports(LEAVING), late(LEAVING_S, closes())),
        calls("run_build", seconds=BUILD_S),
    )


def _lanes(evidence: Evidence, family: Family, conversation: Conversation, columns: int) -> RenderableType:
    """What ran, and of what was said only the root's: all threads at once would be no picture."""
    of_root = [in_plain_words(each) for each in evidence.outputs if each.thread_id == family.root.thread_id]
    shown = Evidence(evidence.entries, evidence.calls, of_root, evidence.invocations, evidence.requests)
    return draw(shown, conversation.said, conversation.began_at, columns)
