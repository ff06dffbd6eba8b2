"""`scripts/demo`: deploy the app on this machine, talk to it, and judge what came of it."""

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scripts.commands.files import writable_file
from scripts.commands.stopping import Stopped, stoppable
from scripts.commands.target import offline_target
from scripts.demonstration import choices, compaction, crash, crash_threads, events, outage, poison, sleep, threads
from scripts.demonstration.scenarios import (
    SCENARIOS,
    Scenario,
    ScenarioError,
    collect_evidence,
    new_thread_id,
    shown_conversation,
)
from scripts.demonstration.timeline import draw
from scripts.demonstration.verdicts import Verdict, counted
from scripts.offline_stack.command import show_step
from scripts.offline_stack.stack import OfflineStack
from scripts.offline_stack.supervisor import StackError

# Those that are more than one conversation, with what they show.
LONG_SCENARIOS: Mapping[str, tuple[str, Callable[[OfflineStack, Console], Verdict]]] = {
    "threads": (threads.TITLE, threads.run_threads),
    "events": (events.TITLE, events.run_events),
    "choices": (choices.TITLE, choices.run_choices),
    "sleep": (sleep.TITLE, sleep.run_sleep),
    "compaction": (compaction.TITLE, compaction.run_compaction),
    "crash": (crash.TITLE, crash.run_crash),
    "crash-threads": (crash_threads.TITLE, crash_threads.run_crash_threads),
    "outage": (outage.TITLE, outage.run_outage),
    "poison": (poison.TITLE, poison.run_poison),
}
NAMES = (*SCENARIOS, *LONG_SCENARIOS)
# What is played when nothing is chosen ends within a minute; each of the others takes longer than that.
TOUR = tuple(SCENARIOS)


@dataclass(frozen=True, slots=True)
class Report:
    """What --json writes. Durations in seconds; a demo without a scenario that was played is not ok."""

    setup_s: float
    run_s: float
    verdicts: dict[str, Verdict]

    @property
    def ok(self) -> bool:
        return bool(self.verdicts) and all(verdict.ok for verdict in self.verdicts.values())

    def to_json(self) -> str:
        scenarios = {
            name: {"ok": verdict.ok, "slices": verdict.slices, "why": verdict.why, **_rows_of(verdict)}
            for name, verdict in self.verdicts.items()
        }
        fields = {"ok": self.ok, "setup_s": round(self.setup_s, 1), "run_s": round(self.run_s, 1)}
        return json.dumps({**fields, "scenarios": scenarios}, indent=2) + "\n"


def _rows_of(verdict: Verdict) -> dict[str, object]:
    return {"messages": list(verdict.rows)} if verdict.rows else {}


def main(words: Sequence[str]) -> int:
    """Run the demo. Returns 0 only if every promise of every scenario was kept.

    Nobody else starts, deploys or stops the stack meanwhile. One that was up before stays up.
    """
    arguments = _parser().parse_args(words)
    console = Console(highlight=False)
    stack = OfflineStack(progress=show_step)
    try:
        with stoppable(), stack.alone():
            report = _perform(chosen_scenarios(arguments.scenario), stack, console, keep=arguments.keep)
    except Stopped as stopped:
        console.print("stopped")
        return stopped.status
    if arguments.json is not None:
        arguments.json.write_text(report.to_json())
    _conclude(report, console)
    return 0 if report.ok else 1


def _perform(names: Sequence[str], stack: OfflineStack, console: Console, *, keep: bool) -> Report:
    was_up = stack.is_up
    if was_up:
        console.print("[dim]the stack is up already: this checkout is deployed to it, and it stays up[/dim]")
    started = time.monotonic()
    try:
        stack.up()
        setup_s = time.monotonic() - started
        verdicts = {name: run_scenario(name, stack, console) for name in names}
        return Report(setup_s, time.monotonic() - started - setup_s, verdicts)
    except StackError as error:
        console.print(Text(f"error: {error}", style="red"), soft_wrap=True)
        return Report(time.monotonic() - started, 0, {})
    finally:
        _leave(stack, console, keep=keep or was_up)


def chosen_scenarios(choice: str | None) -> tuple[str, ...]:
    match choice:
        case None:
            return TOUR
        case "all":
            return NAMES
        case name:
            return (name,)


def run_scenario(name: str, stack: OfflineStack, console: Console) -> Verdict:
    """Play a scenario with threads of its own, show it, and judge it. What did not come is judged, too."""
    console.print()
    console.rule(f"[bold]{name}", align="left")
    if name in LONG_SCENARIOS:
        title, run = LONG_SCENARIOS[name]
        console.print(f"[dim]{title}[/dim]\n")
        verdict = run(stack, console)
    else:
        console.print(f"[dim]{SCENARIOS[name].title}[/dim]\n")
        verdict = _play(name, SCENARIOS[name], stack, console)
    console.print(_judgement(verdict))
    return verdict


def _judgement(verdict: Verdict) -> Table:
    table = Table.grid(padding=(0, 1))  # what does not fit into a line goes on below the promise, not below its sign
    for check in verdict.checks:
        sign = Text("kept", style="green") if check.kept else Text("BROKEN", style="bold red")
        table.add_row(sign, Text.assemble(check.promise, (f"  ({check.seen})", "dim")))
    return table


def _play(name: str, scenario: Scenario, stack: OfflineStack, console: Console) -> Verdict:
    conversation = shown_conversation(stack, offline_target(stack), console, new_thread_id(name))
    try:
        scenario.play(conversation)
    except ScenarioError as error:
        console.print(Text(f"error: {error}", style="red"))
    evidence = collect_evidence(stack, conversation)
    console.print()
    console.print(draw(evidence, conversation.said, conversation.began_at, console.width))
    console.print()
    return scenario.judge(evidence)


def _leave(stack: OfflineStack, console: Console, *, keep: bool) -> None:
    if keep:
        console.print("[dim]the stack stays up: scripts/chat --offline --thread T, and scripts/offline down[/dim]")
    else:
        stack.down()


def _conclude(report: Report, console: Console) -> None:
    console.print()
    console.rule(align="left")
    for name, verdict in report.verdicts.items():
        outcome = "[green]ok[/green]" if verdict.ok else "[bold red]FAILED[/bold red]"
        console.print(f"{name}: {outcome}, {counted(verdict.slices, 'slice')}")
    console.print(f"set-up {report.setup_s:.1f} s, scenarios {report.run_s:.1f} s")
    if report.ok:
        console.print("[green]every promise was kept[/green]")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/demo",
        description="Deploy the app into an AWS emulator on this machine, talk to it, and judge what came of it.",
    )
    parser.add_argument("--scenario", choices=[*NAMES, "all"], help=f"which one (default: {' and '.join(TOUR)})")
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="write the outcome there")
    parser.add_argument("--keep", action="store_true", help="leave the stack up, to go on with chat and enqueue")
    return parser
