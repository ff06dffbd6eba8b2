"""The crash scenario: the same conversation again and again, and each time a process dies at another point.

Nothing in the product knows of it: see `scripts.offline_stack.interposers`.
"""

from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from scripts.commands.target import offline_target
from scripts.demonstration.crash_evidence import KILL_POINTS, KillPoint, Run, read_sightings
from scripts.demonstration.crash_verdicts import judge_calm, judge_killed
from scripts.demonstration.scenarios import ScenarioError, collect_evidence, new_thread_id, shown_conversation
from scripts.demonstration.timeline import Mark, draw
from scripts.demonstration.verdicts import Verdict, verdict_of_runs
from scripts.offline_stack.interposers.detour import detour, wire_log_of
from scripts.offline_stack.interposers.watch import Watch
from scripts.offline_stack.stack import OfflineStack
from scripts.offline_stack.supervisor import is_running

TITLE = "a process is killed at eight points of a slice; each time another one finishes what it began"
TEXT, MESSAGE_ID = "Please build for 1 second.", "build"


@dataclass(frozen=True, slots=True)
class Scene:
    """Where it is played: a stack, the watch on its wire, and who is shown what happens."""

    stack: OfflineStack
    watch: Watch
    console: Console


def run_crash(stack: OfflineStack, console: Console) -> Verdict:
    """Play it undisturbed, then once for each kill point, and judge all. What did not come is judged, too."""
    with detour(stack, wire_log_of(stack)) as watch:
        scene = Scene(stack, watch, console)
        console.rule("undisturbed", align="left", style="dim")
        calm = _play(scene, None)
        verdicts = {"undisturbed": _show(scene, calm, judge_calm(calm))}
        for point in KILL_POINTS:
            console.rule(f"killed {point.name}", align="left", style="dim")
            run = _play(scene, point)
            verdicts[f"killed {point.name}"] = _show(scene, run, judge_killed(run, calm, point), point.name)
    return verdict_of_runs(verdicts)


def _play(scene: Scene, point: KillPoint | None) -> Run:
    conversation = shown_conversation(scene.stack, offline_target(scene.stack), scene.console, new_thread_id("crash"))
    trap = None
    if point is not None:
        moment = (point.step, point.stage)
        trap = scene.watch.set_trap(lambda exchange, seen: (exchange.what, seen) == moment)
    try:
        conversation.say(TEXT, MESSAGE_ID)
        conversation.wait_for("turn_done")
    except ScenarioError as error:
        scene.console.print(Text(f"error: {error}", style="red"))
    evidence = collect_evidence(scene.stack, conversation)
    kill = scene.watch.lift(trap) if trap else None
    return Run(
        thread_id=conversation.thread_id,
        began_at=conversation.began_at,
        evidence=evidence,
        sightings=read_sightings(wire_log_of(scene.stack), conversation.began_at),
        kill=kill,
        is_gone=kill is not None and not is_running(kill.process),
    )


def _show(scene: Scene, run: Run, verdict: Verdict, name: str = "") -> Verdict:
    marks = [Mark(run.kill.at, f"process {run.kill.process.pid} is killed {name}")] if run.kill else []
    said = [(run.began_at, TEXT)]
    scene.console.print(draw(run.evidence, said, run.began_at, scene.console.width, marks))
    for check in verdict.checks:
        if not check.kept:
            scene.console.print(Text.assemble(("BROKEN ", "bold red"), check.promise, (f"  ({check.seen})", "dim")))
    scene.console.print()
    return verdict
