"""The compaction scenario: a conversation outgrows the model's window, twice while it goes on and once all at once.

The window is small: see `scripts.offline_stack.narrow_window`. The second summary's writer is killed when it is about
to tell that it is done.
"""

import json

from rich.console import Console
from rich.text import Text

from runtime.phrases import SUMMARISE
from scripts.commands.rendering import render
from scripts.commands.target import offline_target
from scripts.demonstration.compaction_evidence import Compacted, read_summaries
from scripts.demonstration.compaction_verdicts import judge_compaction
from scripts.demonstration.scenarios import PATIENCE_S, Conversation, ScenarioError, collect_evidence, new_thread_id
from scripts.demonstration.scripting import calls, says, scripted
from scripts.demonstration.timeline import Mark, draw
from scripts.demonstration.verdicts import Verdict
from scripts.offline_stack.interposers.detour import detour, wire_log_of
from scripts.offline_stack.interposers.interventions import Exchange, Hold, Stage
from scripts.offline_stack.interposers.watch import Kill, Watch
from scripts.offline_stack.narrow_window import narrow_window
from scripts.offline_stack.stack import OfflineStack

TITLE = "a conversation outgrows the model's window: summaries are written beside it, and it goes on"
WINDOW_TOKENS = 16_000
COMPACTION_SHARE = 0.75
NOTE_WORDS = 2_400
# A long text does not fit any more behind a history that has this share of the window.
FULL_SHARE = 0.45
LONG_WORDS = 7_500
NOTES_LIMIT = 12
MEANWHILE = "Are you still there?"
TOO_LONG = "And this is the longest of all:"


def run_compaction(stack: OfflineStack, console: Console) -> Verdict:
    """Play it, show it, and judge it. What did not come is judged, too."""
    conversation = Conversation(
        offline_target(stack),
        new_thread_id("compaction"),
        on_output=lambda output: console.print(render(output)),
        on_word=lambda word: console.print(_shortened(word)),
        now=stack.now,
    )
    kill = None
    with narrow_window(stack, WINDOW_TOKENS), detour(stack, wire_log_of(stack)) as watch:
        try:
            kill = _play(conversation, watch)
        except ScenarioError as error:
            console.print(Text(f"error: {error}", style="red"))
        evidence = collect_evidence(stack, conversation)
    marks = [Mark(kill.at, f"process {kill.process.pid} is killed before it tells of its summary")] if kill else []
    said = [(at, words[:40]) for at, words in conversation.said]
    console.print(draw(evidence, said, conversation.began_at, console.width, marks))
    summaries = read_summaries(stack.database_dsn, conversation.thread_id)
    return judge_compaction(Compacted(conversation.thread_id, evidence, summaries, kill is not None))


def _shortened(word: Text) -> Text:
    word.truncate(100, overflow="ellipsis")
    return word


def _play(conversation: Conversation, watch: Watch) -> Kill | None:
    child_id = _begin_child(conversation)
    hold = watch.hold(_gets_summary)
    _fill(conversation, COMPACTION_SHARE)
    _ask_meanwhile(conversation, hold)
    conversation.wait_for("compacted")
    trap = watch.set_trap(lambda exchange, stage: _tells(exchange, stage, conversation.thread_id))
    _fill(conversation, COMPACTION_SHARE)
    conversation.wait_for("compacted")
    kill = watch.lift(trap)
    _ask_child(conversation, child_id)
    _fill(conversation, FULL_SHARE)
    _ask(conversation, f"{TOO_LONG} {'word ' * LONG_WORDS}")
    return kill


def _begin_child(conversation: Conversation) -> str:
    """Have a child begin that says something and then waits. Returns its id."""
    child = calls("spawn_thread", instructions="Wait for me.", child_of=[conversation.thread_id])
    conversation.say(scripted("Let somebody wait.", child, says("Somebody waits.")))
    conversation.wait_for("report")
    _wait_for_turns(conversation, 2)  # one that begins the child, one for its report
    return next(output.text_of("child_thread_id") for output in conversation.outputs if output.type == "thread_spawned")


def _ask_child(conversation: Conversation, child_id: str) -> None:
    """Have the parent say something to its child, and wait for what it makes of the report."""
    question = calls("send_message_to_child", thread_id=child_id, message=MEANWHILE)
    before = len(_turns(conversation))
    conversation.say(scripted("Ask the one who waits.", question, says("I asked it.")))
    conversation.wait_for("report")
    _wait_for_turns(conversation, before + 2)


def _ask_meanwhile(conversation: Conversation, hold: Hold) -> None:
    """Ask something and wait for the answer while the summary is as good as written."""
    try:
        if hold.wait(PATIENCE_S) is None:
            raise ScenarioError("no summary was written")
        _ask(conversation, MEANWHILE)
    finally:
        hold.release()


def _fill(conversation: Conversation, share: float) -> None:
    """Take notes until the last answer was to a request that has more than this share of the window."""
    for number in range(NOTES_LIMIT):
        _ask(conversation, f"Note {number}: {'word ' * NOTE_WORDS}")
        if _read_by_last_answer(conversation) > share * WINDOW_TOKENS:
            return
    raise ScenarioError(f"{NOTES_LIMIT} notes did not fill the window")


def _ask(conversation: Conversation, text: str) -> None:
    before = len(_turns(conversation))
    conversation.say(text)
    _wait_for_turns(conversation, before + 1)


def _wait_for_turns(conversation: Conversation, count: int) -> None:
    """Wait until the conversation itself has ended so many turns; those of a child do not count."""
    while len(_turns(conversation)) < count:
        conversation.wait_for("turn_done")


def _turns(conversation: Conversation) -> list[dict[str, int]]:
    """The usage of the turns the conversation itself has ended, in order."""
    done = [output for output in conversation.outputs if output.type == "turn_done" and not output.is_of_child]
    return [json.loads(output.text_of("usage")) for output in done]


def _read_by_last_answer(conversation: Conversation) -> int:
    usage = _turns(conversation)[-1]
    return usage["input_tokens"] + usage["cache_read_tokens"] + usage["cache_write_tokens"]


def _gets_summary(exchange: Exchange, stage: Stage) -> bool:
    return (exchange.what, stage) == ("complete", "answered") and SUMMARISE.encode() in exchange.body


def _tells(exchange: Exchange, stage: Stage, thread_id: str) -> bool:
    """Whether the conversation is about to be sent a message by a slice; here, only a summary's writer does so."""
    return (exchange.what, stage, tuple(exchange.threads)) == ("send messages", "arrived", (thread_id,))
