"""The poison scenario: one message ends the process each time that the model is asked with it.

It is killed from outside, by what its request to the model holds: see `scripts.offline_stack.interposers`.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from scripts.commands.messages import TextMessage
from scripts.commands.target import Target, offline_target
from scripts.demonstration.deliveries import read_deliveries
from scripts.demonstration.evidence import read_requests
from scripts.demonstration.poison_evidence import Case, Word, read_deaths
from scripts.demonstration.poison_verdicts import judge_poison
from scripts.demonstration.scenarios import Conversation, new_thread_id, shown_conversation, wait_until_idle
from scripts.demonstration.talks import dead_letters, left_behind
from scripts.demonstration.time_lapse import STEP_S, TimeLapse
from scripts.demonstration.verdicts import Check, Verdict
from scripts.offline_stack.interposers.detour import detour, wire_log_of
from scripts.offline_stack.interposers.interventions import Exchange, Stage
from scripts.offline_stack.interposers.watch import Watch
from scripts.offline_stack.stack import OfflineStack

TITLE = "a message kills the process whenever it is tried; it is withheld alone, and everything beside it is answered"
POISON = "arsenic"
LAST_WORDS = "Are you still there?"
# By case and conversation, all of a case in one batch. The first conversation is the poisoned one.
CASES: Mapping[str, Mapping[str, Sequence[str]]] = {
    "between innocents": {
        "poisoned": ("What came before?", f"Take some {POISON}.", "What comes behind?"),
        "beside it": ("Do not mind me.", "Nor me."),
        "beside it, too": ("I am only passing by.",),
    },
    "behind an innocent": {
        "poisoned": ("First things first.", f"Have some more {POISON}."),
        "beside it": ("Never mind.",),
    },
}
LONGEST_S = 3_600
LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Scene:
    stack: OfflineStack
    target: Target
    console: Console


def run_poison(stack: OfflineStack, console: Console) -> Verdict:
    """Play every case, show what became of each message, and judge. What did not come is judged, too."""
    scene = Scene(stack, offline_target(stack), console)
    verdicts = {}
    for name, talks in CASES.items():
        console.rule(name, align="left", style="dim")
        case = _play(scene, talks)
        verdicts[name] = judge_poison(case, POISON)
        console.print(_table(verdicts[name].rows))
    return Verdict(
        [Check(f"{name}: {each.promise}", each.kept, each.seen) for name, v in verdicts.items() for each in v.checks],
        slices=sum(verdict.slices for verdict in verdicts.values()),
        rows=[{"case": name, **row} for name, verdict in verdicts.items() for row in verdict.rows],
    )


def _play(scene: Scene, lines: Mapping[str, Sequence[str]]) -> Case:
    stack, target = scene.stack, scene.target
    wire_log = wire_log_of(stack)
    lapse, dead_before, began_at = TimeLapse.of(stack, target), dead_letters(target), stack.now()
    talks = {name: shown_conversation(stack, target, scene.console, new_thread_id("poison")) for name in lines}
    with detour(stack, wire_log) as watch, _killing(watch):
        words = _say_at_once(target, talks, lines)
        _let_time_pass(stack, lapse, talks, words)
        poisoned = talks["poisoned"]
        words = [*words, Word("poisoned", LAST_WORDS, poisoned.say(LAST_WORDS))]
        _let_time_pass(stack, lapse, talks, words)
        wait_until_idle(stack)
    return Case(
        words=words,
        talks={name: left_behind(talk, stack) for name, talk in talks.items()},
        deliveries=read_deliveries(stack.delivery_log_path, stack.outputs["SliceFunctionName"], began_at),
        deaths=read_deaths(wire_log),
        requests=read_requests(stack.model_log_path, began_at),
        dead_letters=dead_letters(target) - dead_before,
    )


@contextmanager
def _killing(watch: Watch) -> Iterator[None]:
    """Kill every process that asks the model with the poison in its request, before the model has it."""

    def strikes(exchange: Exchange, stage: Stage) -> bool:
        return (exchange.what, stage) == ("complete", "arrived") and POISON.encode() in exchange.body

    def kill_again_and_again() -> None:
        while not over.is_set():
            trap = watch.set_trap(strikes)
            while not over.is_set() and trap.wait(LOOK_S) is None:
                continue

    over = threading.Event()
    killer = threading.Thread(target=kill_again_and_again)
    killer.start()
    try:
        yield
    finally:
        over.set()
        killer.join()


def _say_at_once(target: Target, talks: Mapping[str, Conversation], lines: Mapping[str, Sequence[str]]) -> list[Word]:
    """Send all in one request, so that the queue gives them out together."""
    said = [(name, TextMessage(talks[name].thread_id, words)) for name, texts in lines.items() for words in texts]
    answer = target.sqs.send_message_batch(
        QueueUrl=target.input_queue_url,
        Entries=[
            {
                "Id": str(place),
                "MessageBody": message.body,
                "MessageGroupId": message.thread_id,
                "MessageDeduplicationId": message.deduplication_id,
            }
            for place, (_, message) in enumerate(said)
        ],
    )
    ids = {entry["Id"]: entry["MessageId"] for entry in answer["Successful"]}
    return [Word(name, message.text, ids[str(place)]) for place, (name, message) in enumerate(said)]


def _let_time_pass(
    stack: OfflineStack, lapse: TimeLapse, talks: Mapping[str, Conversation], words: Sequence[Word]
) -> None:
    """Until each innocent text is quoted in what was said and each other thing is an error, or patience ends."""
    latest = stack.now() + LONGEST_S
    while stack.now() < latest and not all(_came(word, talks[word.name]) for word in words):
        lapse.until(stack.now() + STEP_S)
        for talk in talks.values():
            talk.collect()


def _came(word: Word, talk: Conversation) -> bool:
    if POISON in word.words:
        return any(output.type == "error" for output in talk.outputs)
    return any(word.words in output.text_of("text") for output in talk.outputs)


def _table(rows: Sequence[Mapping[str, object]]) -> Table:
    table = Table("conversation", "message", "receives", "deaths by its mark", "what became of it", box=None)
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    return table
