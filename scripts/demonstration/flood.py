"""A flood: hundreds of events for one thread, and what it costs those who talk meanwhile."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from scripts.commands.rendering import render_user
from scripts.commands.target import Target
from scripts.demonstration.families import Family, read_family
from scripts.demonstration.scenarios import Conversation, ScenarioError, new_thread_id
from scripts.demonstration.scripting import calls, says, scripted
from scripts.offline_stack.stack import OfflineStack
from scripts.storming.account import wait_until_handled

# Small enough for every run of the demo, also in processes: each that works beside another has to begin first.
FLOOD_EVENTS, BUDGET = 24, 5
WITNESSES, ROUNDS = 2, 4
PATIENCE_S = 300.0


@dataclass(frozen=True, slots=True)
class Flood:
    """What a flood left behind. Latencies of those who talked meanwhile, and of the same before, in seconds."""

    family: Family
    events: int
    budget: int
    before_s: Sequence[float]
    during_s: Sequence[float]
    witnesses: Sequence[Family]
    left: int

    @property
    def ratio(self) -> float:
        return statistics.median(self.during_s) / statistics.median(self.before_s) if self.during_s else 0.0


def play_flood(stack: OfflineStack, target: Target, console: Console, events: int, budget: int) -> Flood:
    """Talk in a few conversations, have one thread flooded, and talk in them again. `budget`: of live children."""
    flooded = _silent(stack, target, "flood")
    witnesses = [_silent(stack, target, "witness") for _ in range(WITNESSES)]
    before_s: list[float] = []
    during_s: list[float] = []
    try:
        _talk(witnesses, "Hello?")  # the first of a process costs more: it is no measure
        before_s = [each for _ in range(ROUNDS) for each in _talk(witnesses, "Is it quiet?")]
        flooded.say(_words(events))
        flooded.wait_for("turn_done")
        during_s = [each for _ in range(ROUNDS) for each in _talk(witnesses, "Is it loud?")]
    except ScenarioError as error:
        console.print(Text(f"error: {error}", style="red"))
    left = wait_until_handled(stack, target, PATIENCE_S)
    flood = Flood(
        family=_left(stack, flooded),
        events=events,
        budget=budget,
        before_s=before_s,
        during_s=during_s,
        witnesses=[_left(stack, each) for each in witnesses],
        left=left,
    )
    console.print(render_user(f"Watch a flood of {events} events."))
    console.print(f"others' turns take {flood.ratio:.1f} times as long meanwhile, by the median of {len(during_s)}")
    return flood


def _words(events: int) -> str:
    return scripted(
        "Watch a flood.",
        calls("watch", events=events, interval_s=0),
        says("Let it come."),
        events=(calls("ask", question="Have you seen it?", choices=["Yes."]),),  # so that it stays open
    )


def _silent(stack: OfflineStack, target: Target, name: str) -> Conversation:
    return Conversation(target, new_thread_id(name), lambda _: None, lambda _: None, stack.now)


def _talk(talks: Sequence[Conversation], words: str) -> list[float]:
    """Say it in each, one after the other. Returns how long each turn took, from the word to its end, in seconds."""
    took_s = []
    for talk in talks:
        talk.say(words)
        talk.wait_for("turn_done")
        done_at = max(output.sent_at for output in talk.outputs if output.type == "turn_done")
        took_s.append(done_at - talk.said[-1][0])
    return took_s


def _left(stack: OfflineStack, talk: Conversation) -> Family:
    talk.collect()
    return read_family(stack.database_dsn, talk.thread_id, talk.outputs)
