"""A small load on a real deployment, judged by counts: the figures themselves are for `scripts/load_test` to show."""

import json
import os
import subprocess
import sys
import uuid

from rich.console import Console

from scripts.bootstrap import ROOT
from scripts.commands.messages import TextMessage, send
from scripts.commands.outputs import OutputReader
from scripts.commands.target import Target
from scripts.load_testing.command import run_plan
from scripts.load_testing.figures import Figures, to_json
from scripts.load_testing.plan import Plan
from scripts.load_testing.sites import offline_site
from scripts.offline_stack.stack import OfflineStack
from scripts.storming.account import count_waiting
from tests.offline.conversations import wait_for_answers

PATIENCE_S = 60.0


def load(stack: OfflineStack, *plans: Plan) -> list[Figures]:
    runs: list[Figures] = []
    for plan in plans:
        run_plan(plan, offline_site(stack), PATIENCE_S, Console(width=120), runs)
    return runs


def test_every_message_of_many_conversations_is_answered_once_and_in_order(stack: OfflineStack) -> None:
    (run,) = load(stack, Plan(threads=6, messages=2))

    assert run.ok, run
    assert (run.tally.answered, run.turns) == (12, 12)
    assert sum((run.trouble.receives or {}).values()) == 12
    assert run.at_once.in_progress == 6
    assert 1 <= (run.at_once.slices or 0) <= 6
    assert 1 <= (run.at_once.in_slices or 0) <= 6


def test_messages_that_interrupt_are_answered_in_their_order(stack: OfflineStack) -> None:
    (run,) = load(stack, Plan(threads=2, messages=2, interrupts=True))

    assert run.ok, run
    assert (run.tally.answered, 2 <= run.turns <= 4) == (4, True)


def test_a_ramp_has_the_figures_of_each_step(stack: OfflineStack) -> None:
    runs = load(stack, *(Plan(threads, messages=2, rate_per_s=50) for threads in (1, 3)))

    assert [(run.threads, run.tally.answered, run.ok) for run in runs] == [(1, 2, True), (3, 6, True)]
    assert len(json.loads(to_json(runs))["runs"]) == 2


def test_what_others_are_told_is_left_on_the_output_queue(stack: OfflineStack, target: Target) -> None:
    theirs = f"somebody-{uuid.uuid4().hex[:8]}"
    send(target.sqs, target.input_queue_url, TextMessage(theirs, "Hello?"))
    wait_for_answers(stack, {theirs: 1})

    (run,) = load(stack, Plan(threads=2, messages=1))

    assert run.ok, run
    reader = OutputReader(target.sqs, target.output_queue_url, theirs)
    assert [output.type for _ in range(2) for output in reader.read()] == ["text", "turn_done"]


def test_a_deployed_stack_is_sent_nothing_before_its_costs_are_agreed_to(stack: OfflineStack, target: Target) -> None:
    command = [sys.executable, "scripts/load_test", "--threads", "3", "--messages", "2"]
    environment = {"PATH": os.environ["PATH"], **stack.environment}

    asked = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)

    assert asked.returncode == 1
    assert "6 messages to 3 new conversations" in asked.stdout
    assert count_waiting(target.sqs, target.input_queue_url) == 0
