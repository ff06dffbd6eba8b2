"""A short storm on a real deployment; the long one is a command of its own."""

from rich.console import Console

from scripts.offline_stack.stack import OfflineStack
from scripts.storming.command import run_storm
from scripts.storming.storm import Plan

PLAN = Plan(threads=8, messages=6, duration_s=20, kill_every_s=1, seed=1, spared=1)


def test_nothing_is_lost_doubled_or_out_of_order_while_processes_die_at_random(stack: OfflineStack) -> None:
    account = run_storm(PLAN, stack, Console(width=120), patience_s=120)

    assert account.losses.none, account.losses
    assert (account.two_bodies, account.dead_letters, account.left) == (0, 0, 0)
    assert 0 < account.hits <= account.kills
