"""`scripts/load_test`: many conversations at once with a deployment, and what it makes of them.

Exit status 0 only if every message was answered once and in order.
"""

import argparse
from collections.abc import Callable, Sequence

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.text import Text

from scripts.commands.files import writable_file
from scripts.commands.stopping import Stopped, stoppable
from scripts.commands.target import TargetError, add_target_options, deployed_target
from scripts.load_testing.driving import LoadError, drive
from scripts.load_testing.figures import Figures, figures_of, to_json
from scripts.load_testing.ledger import Ledger
from scripts.load_testing.plan import Plan, PlanError
from scripts.load_testing.showing import show_ramp, show_run, show_whose_limit
from scripts.load_testing.sites import MOST_FOREIGN, Site, deployed_site, offline_site, require_room
from scripts.offline_stack.stack import OfflineStack

# What is done about outputs of others that are in the way.
CLEAR_OFFLINE = "scripts/offline down and up clears the queue"
CLEAR_DEPLOYED = "read them first and stop that reader, or go on with --beside-others if they are few"
DEFAULT_THREADS = 20
MOST_STEPS = 10


def main(words: Sequence[str]) -> int:
    """Run what the words of the command line ask for, show it, and return the exit status."""
    parser = _parser()
    arguments = parser.parse_args(words)
    try:
        plans = plans_of(arguments)
    except PlanError as error:
        parser.error(str(error))
    console = Console(highlight=False)
    runs: list[Figures] = []
    status = _load(arguments, plans, console, runs)
    if runs:
        _show(arguments, runs, console)
    return status or (0 if len(runs) == len(plans) and all(run.ok for run in runs) else 1)


def _load(arguments: argparse.Namespace, plans: Sequence[Plan], console: Console, runs: list[Figures]) -> int:
    """Run the plans, each with its figures in `runs`, until one fails. Returns 0 unless something ended it early."""
    try:
        with stoppable():
            find_site = _chosen_site(arguments, plans)
            for plan in plans:
                if not run_plan(plan, find_site(), arguments.patience, console, runs).ok:
                    break
    except (TargetError, LoadError, BotoCoreError, ClientError) as error:
        console.print(Text(f"error: {error}", style="red"), soft_wrap=True)
        return 1
    except Stopped as stopped:
        console.print("stopped: what was sent is still answered, and its outputs stay on the output queue")
        return stopped.status
    return 0


def run_plan(plan: Plan, site: Site, patience_s: float, console: Console, runs: list[Figures]) -> Figures:
    """Carry it out and put its figures to `runs`, also when it ends early.

    Raises:
        LoadError: the queues refuse us.

    """
    ledger = Ledger(plan, site.now())
    with console.status("") as status:

        def show_progress() -> None:
            answered = sum(thread.answered for thread in ledger.progress.values())
            status.update(f"{plan.threads} threads: {answered:,} of {plan.in_all:,} messages answered")

        try:
            drive(ledger, site, patience_s, show_progress)
        finally:
            runs.append(figures_of(ledger, site.observe(plan, ledger.began_at), site.now()))
    return runs[-1]


def plans_of(arguments: argparse.Namespace) -> list[Plan]:
    """Return one plan, or one for each step of a ramp. Raises: PlanError."""
    if arguments.patience <= 0:
        raise PlanError("the patience is how many seconds are waited for a next answer: more than 0")
    if arguments.ramp is None:
        steps = [DEFAULT_THREADS if arguments.threads is None else arguments.threads]
    else:
        steps = _steps_of(arguments.ramp)
    return [Plan(threads, arguments.messages, arguments.rate, arguments.interrupts) for threads in steps]


def _steps_of(ramp: str) -> list[int]:
    try:
        steps = [int(step) for step in ramp.split(",")]
    except ValueError:
        raise PlanError(f"a ramp is numbers of threads, such as 1,2,4,8: not {ramp!r}") from None
    if steps != sorted(set(steps)) or len(steps) > MOST_STEPS:
        raise PlanError(f"a ramp rises, in at most {MOST_STEPS} steps")
    return steps


def _chosen_site(arguments: argparse.Namespace, plans: Sequence[Plan]) -> Callable[[], Site]:
    """Return what finds the deployment for each step. Raises: TargetError when it is none, or nobody said --yes."""
    if arguments.offline:
        stack = OfflineStack()
        require_room(offline_site(stack).target, MOST_FOREIGN, CLEAR_OFFLINE)
        return lambda: offline_site(stack)
    target = deployed_target(arguments.stack)
    if not arguments.yes:
        raise TargetError(_warning(arguments.stack, plans))
    require_room(target, MOST_FOREIGN if arguments.beside_others else 0, CLEAR_DEPLOYED)
    return lambda: deployed_site(target)


def _warning(stack_name: str, plans: Sequence[Plan]) -> str:
    messages, threads = sum(plan.in_all for plan in plans), sum(plan.threads for plan in plans)
    return f"""\
nothing was sent yet, because it costs. This sends {messages:,} messages to {threads:,} new conversations of the stack
{stack_name!r}. Each is a completion of its model, with its system prompt, its tools and the conversation so far; what
is tried again is one more. The conversations stay in its database.
It takes its own outputs off the output queue, and puts those of others back at once. What another program reads there
meanwhile is missing in the figures.
Give --yes to begin."""


def _show(arguments: argparse.Namespace, runs: Sequence[Figures], console: Console) -> None:
    if arguments.ramp is None:
        show_run(runs[-1], console)
    else:
        show_ramp(runs, console)
    if arguments.offline:
        show_whose_limit(console)
    if arguments.json is not None:
        arguments.json.write_text(to_json(runs))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/load_test",
        description="Many conversations at once with a deployment: how long their answers take, how many are served at"
        " once, and whether each message is answered once and in order.",
    )
    number = parser.add_mutually_exclusive_group()
    number.add_argument("--threads", type=int, metavar="N", help=f"conversations at once (default: {DEFAULT_THREADS})")
    number.add_argument("--ramp", metavar="N,N,…", help="one run after the other, with so many threads: 1,2,4,8")
    parser.add_argument("--messages", type=int, default=5, metavar="N", help="for each thread (default: 5)")
    parser.add_argument(
        "--rate",
        type=float,
        metavar="PER_S",
        help="messages per second, all threads together; without it a thread's next one follows its last answer",
    )
    parser.add_argument(
        "--interrupts", action="store_true", help="send each second message of a thread while the one before is at work"
    )
    parser.add_argument(
        "--patience", type=float, default=120, metavar="S", help="give up when nothing came for so long (default: 120)"
    )
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="also write the figures there")
    parser.add_argument("--yes", action="store_true", help="begin, though completions of a deployed stack cost money")
    parser.add_argument(
        "--beside-others",
        action="store_true",
        help=f"go on though up to {MOST_FOREIGN} outputs of others lie on a deployed stack's queue; they are put back",
    )
    add_target_options(parser)
    return parser
