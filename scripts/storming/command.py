"""`scripts/storm`: deploy the app on this machine and let processes die at random while many conversations go on.

Exit status 0 only if every text stands in its thread's history once and in order, was answered once, and enough of the
kills hit a slice that was running.
"""

import argparse
import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scripts.commands.stopping import Stopped, stoppable
from scripts.commands.target import Target, offline_target
from scripts.offline_stack.command import show_step
from scripts.offline_stack.interposers.detour import detour
from scripts.offline_stack.interposers.watch import Kill, Watch
from scripts.offline_stack.stack import OfflineStack
from scripts.offline_stack.supervisor import StackError
from scripts.storming.account import Account, Storm, take_account, wait_until_handled
from scripts.storming.storm import Plan, kill_at_random, say_everything

WIRE_LOG = "storm-wire.jsonl"
# Each death costs a start, and with two processors more processes only slow each other. Small batches, so that a death
# hits few threads and there is time for many. A request that a process had sent before it was killed may arrive after
# its messages were released, and ask for their whole visibility: then they come back that much later, so it is short.
CONTEXT = {
    "slice_max_concurrency": "4",
    "slice_batch_size": "2",
    "slice_timeout_s": "60",
    "queue_visibility_s": "60",
}


def main(words: Sequence[str]) -> int:
    """Run one storm. Returns 0 only if nothing was lost, doubled or out of order, and enough was hit."""
    arguments = _parser().parse_args(words)
    plan = Plan(arguments.threads, arguments.messages, arguments.seconds, arguments.kill_every, arguments.seed)
    console = Console(highlight=False)
    stack = OfflineStack(context=CONTEXT, progress=show_step)
    try:
        with stoppable(), stack.alone():
            account = _on_a_stack_of_its_own(plan, stack, console, arguments.patience)
    except StackError as error:
        console.print(Text(f"error: {error}", style="red"))
        return 1
    except Stopped as stopped:
        console.print("stopped")
        return stopped.status
    if arguments.json is not None:
        arguments.json.write_text(account.to_json())
    _show(account, console)
    return 0 if account.ok else 1


def _on_a_stack_of_its_own(plan: Plan, stack: OfflineStack, console: Console, patience_s: float) -> Account:
    if stack.is_up:
        raise StackError("A stack is up already, and a storm needs one deployed for it: scripts/offline down first.")
    try:
        stack.up()
        return run_storm(plan, stack, console, patience_s)
    finally:
        stack.down()


def run_storm(plan: Plan, stack: OfflineStack, console: Console, patience_s: float) -> Account:
    """Say everything, kill at random meanwhile, wait until all is handled, and take account."""
    target = offline_target(stack)
    wire_log = stack.invocation_log_path.with_name(WIRE_LOG)
    console.print(
        f"{plan.threads} threads with {plan.messages} messages each in {plan.duration_s:g} s, seed {plan.seed}"
    )
    with detour(stack, wire_log) as watch:
        began_at = stack.now()
        kills = _rage(plan, target, watch, console)
        calm_at = time.monotonic()
        left = wait_until_handled(stack, target, patience_s)
        storm = Storm(plan, began_at, kills, time.monotonic() - calm_at, left)
        return take_account(storm, stack, target, wire_log)


def _rage(plan: Plan, target: Target, watch: Watch, console: Console) -> list[Kill]:
    stopped = threading.Event()
    kills: list[Kill] = []
    with ThreadPoolExecutor(1) as pool:
        saying = pool.submit(say_everything, plan, target, stopped)
        try:
            for kill in kill_at_random(plan, watch):
                kills.append(kill)
                if len(kills) % 10 == 0:
                    console.print(f"[dim]{len(kills)} processes killed, the last one at: {_moment(kill)}[/dim]")
        except BaseException:
            stopped.set()
            raise
        saying.result()
    return kills


def _moment(kill: Kill) -> str:
    return f"{kill.exchange.what} {kill.stage}"


def _show(account: Account, console: Console) -> None:
    table = Table("what", "how many", title="what the storm left behind", title_justify="left")
    figures = {
        "processes killed": account.kills,
        "kills that hit a running slice": account.hits,
        "slices": account.slices,
        **{name.replace("_", " "): count for name, count in asdict(account.losses).items()},
        "outputs": account.outputs,
        "outputs sent again": account.resent,
        "outputs with two bodies": account.two_bodies,
        "dead letters": account.dead_letters,
        "not handled": account.left,
    }
    for what, count in figures.items():
        table.add_row(what, f"{count:,}")
    console.print(table)
    console.print("killed at: " + ", ".join(f"{moment} {times}" for moment, times in account.moments.items()))
    outcome = "[green]ok[/green]" if account.ok else "[bold red]FAILED[/bold red]"
    console.print(f"{outcome}; all was handled {account.calm_after_s:.1f} s after the last kill")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/storm",
        description="Many conversations on a stack of this machine, while the processes that serve them die at random.",
    )
    parser.add_argument("--threads", type=int, default=50)
    parser.add_argument("--messages", type=int, default=20, help="for each thread (default: 20)")
    parser.add_argument(
        "--seconds", type=float, default=120, help="how long it lasts (default: 120); half as long again at most"
    )
    parser.add_argument("--kill-every", type=float, default=1, metavar="S", help="seconds per kill (default: 1)")
    parser.add_argument("--patience", type=float, default=180, metavar="S", help="for what is left (default: 180 s)")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="of what is random about it")  # noqa: S311
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the account there")
    return parser
