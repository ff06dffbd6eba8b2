"""The crash-threads scenario: a process dies where threads begin, sleep and close, and where a choice is answered.

Each conversation is played undisturbed first, then once for each kill point. Nothing in the product knows of it: see
`scripts.offline_stack.interposers`.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from scripts.commands import enqueue
from scripts.commands.target import Target, offline_target
from scripts.demonstration.configured import tool_server_at
from scripts.demonstration.crash_threads_verdicts import Outcome, judge_calm, judge_killed
from scripts.demonstration.evidence import read_requests
from scripts.demonstration.families import read_family
from scripts.demonstration.scenarios import Conversation, ScenarioError, new_thread_id, shown_conversation, slices_since
from scripts.demonstration.scripting import calls, closes, late, says, scripted, spawns
from scripts.demonstration.verdicts import Verdict, verdict_of_runs
from scripts.offline_stack.configured import variables_of
from scripts.offline_stack.interposers.detour import TOOL_SERVERS, detour, wire_log_of
from scripts.offline_stack.interposers.interventions import Exchange, Stage
from scripts.offline_stack.interposers.watch import Watch
from scripts.offline_stack.stack import OfflineStack
from scripts.offline_stack.supervisor import is_running
from scripts.storming.account import wait_until_handled

TITLE = "a process is killed where threads begin and close, sleep and are answered; nothing is lost or doubled"
PATIENCE_S = 60.0
# The child is at its first turn for so long, and the clock ticks after so long: until its parent's turn is over.
BESIDE_S = 1.5
SLEEP_S = 3


@dataclass(frozen=True, slots=True)
class Point:
    """A moment at which the process is killed that comes there first. `name` completes "killed with …"."""

    name: str
    step: str
    to_root: bool | None = None
    stage: Stage = "arrived"

    def strikes(self, root_id: str) -> Callable[[Exchange, Stage], bool]:
        """`to_root`: whether the exchange has to be about the root itself, or about another thread."""
        return lambda exchange, stage: (
            (exchange.what, stage) == (self.step, self.stage)
            and (self.to_root is None or (root_id in exchange.threads) == self.to_root)
        )


@dataclass(frozen=True, slots=True)
class Act:
    """One conversation: how it is played, and where it is disturbed."""

    name: str
    play: Callable[[Conversation], None]
    points: Sequence[Point]


def _play_child(talk: Conversation) -> None:
    child = spawns([talk.thread_id], "Look, and be done.", late(BESIDE_S, closes("I found it.")))
    talk.say(scripted("Have a thread look.", child, says("It looks.")))
    talk.wait_for("turn_done", times=2)


def _play_event(talk: Conversation) -> None:
    watch = calls("watch", events=1, interval_s=BESIDE_S)
    talk.say(scripted("Watch, and see to each.", watch, says("I watch."), events=(says("Seen."),)))
    talk.wait_for("turn_done", times=3)


def _play_sleep(talk: Conversation) -> None:
    talk.say(scripted("Sleep a little.", calls("sleep", seconds=SLEEP_S), says("I am awake.")))
    talk.wait_for("turn_done")


def _play_choice(talk: Conversation) -> None:
    talk.say("Ask me: tea or coffee?")
    talk.wait_for("user_choice_required")
    choice_id = next(each.text_of("choice_id") for each in talk.outputs if each.type == "user_choice_required")
    words = ["--thread", talk.thread_id, "--choice", choice_id, "--select", "2"]
    talk.send(enqueue.message_of(enqueue.parser().parse_args(words)))
    talk.wait_for("turn_done")


ACTS = (
    Act(
        "a child",
        _play_child,
        [
            Point("a child spawned and not woken", "send messages", to_root=False),
            Point("a child closed and its last report owed", "send messages", to_root=True),
        ],
    ),
    Act("an event", _play_event, [Point("a thread of an event begun and not woken", "send messages", to_root=False)]),
    Act("a sleep", _play_sleep, [Point("a sleep begun and not timed", "start timer")]),
    Act(
        "a choice",
        _play_choice,
        [
            Point("a choice answered and its tool not told", "tell choice"),
            Point("its tool told and the choice not closed", "close choice"),
        ],
    ),
)


@dataclass(frozen=True, slots=True)
class Scene:
    stack: OfflineStack
    target: Target
    watch: Watch
    console: Console


def run_crash_threads(stack: OfflineStack, console: Console) -> Verdict:
    """Play every act undisturbed and then with each of its kills, and judge all. What did not come is judged, too."""
    verdicts: dict[str, Verdict] = {}
    with ExitStack() as opened:
        watch = opened.enter_context(detour(stack, wire_log_of(stack)))
        opened.enter_context(tool_server_at(stack, _origin_of_tools(stack)))
        scene = Scene(stack, offline_target(stack), watch, console)
        for act in ACTS:
            console.rule(f"{act.name}, undisturbed", align="left", style="dim")
            calm = _play(scene, act, None)
            verdicts[f"{act.name}, undisturbed"] = judge_calm(calm)
            for point in act.points:
                console.rule(f"killed with {point.name}", align="left", style="dim")
                verdicts[f"killed with {point.name}"] = judge_killed(_play(scene, act, point), calm)
    return verdict_of_runs(verdicts)


def _origin_of_tools(stack: OfflineStack) -> str:
    """Where the slice function now finds the tool server: what the server gives out has to be there, too."""
    (server,) = json.loads(variables_of(stack)[TOOL_SERVERS])
    return str(server["url"]).partition("/_aws/")[0]


def _play(scene: Scene, act: Act, point: Point | None) -> Outcome:
    stack = scene.stack
    talk = shown_conversation(stack, scene.target, scene.console, new_thread_id("crash-threads"))
    trap = scene.watch.set_trap(point.strikes(talk.thread_id)) if point else None
    try:
        act.play(talk)
    except ScenarioError as error:
        scene.console.print(Text(f"error: {error}", style="red"))
    wait_until_handled(stack, scene.target, PATIENCE_S)
    talk.collect()
    kill = scene.watch.lift(trap) if trap else None
    slices = slices_since(stack, talk.began_at)
    return Outcome(
        family=read_family(stack.database_dsn, talk.thread_id, talk.outputs),
        outputs=talk.outputs,
        requests=read_requests(stack.model_log_path, talk.began_at),
        slices=slices,
        killed=kill is not None,
        is_gone=kill is not None and not is_running(kill.process),
    )
