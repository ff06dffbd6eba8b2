"""The sleep scenario: three agents sleep, for seconds, for a month, and until somebody comes.

The month passes at once, because the stack's clock is moved.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from scripts.commands.target import offline_target
from scripts.demonstration.deliveries import read_deliveries
from scripts.demonstration.scenarios import (
    Conversation,
    ScenarioError,
    new_thread_id,
    shown_conversation,
    wait_until_idle,
)
from scripts.demonstration.scripting import calls, scripted
from scripts.demonstration.sleep_verdicts import Nap, Sleep, judge_sleep
from scripts.demonstration.talks import left_behind
from scripts.demonstration.time_lapse import count_schedules
from scripts.demonstration.verdicts import Verdict
from scripts.offline_stack.stack import OfflineStack

TITLE = "a sleep of seconds, one of a month, and one that somebody interrupts, while nothing of ours runs"
MINUTE_S, DAY_S = 60, 86_400
SHORT_S, LONG_S, INTERRUPTED_S = 3, 30 * DAY_S, 10 * MINUTE_S
INTERRUPTED_AFTER_S = 2 * MINUTE_S
# The clock is moved to shortly before the month is over, so that it is seen not to end early.
REST_S = 3


@dataclass(frozen=True, slots=True)
class _Night:
    """The conversations, and how many schedules there were at each stage."""

    short: Conversation
    long: Conversation
    interrupted: Conversation
    schedules: list[int]


def run_sleep(stack: OfflineStack, console: Console) -> Verdict:
    """Play it, and judge. What did not come is judged, too."""
    began_at = stack.now()
    target = offline_target(stack)
    short, long, interrupted = (shown_conversation(stack, target, console, new_thread_id("sleep")) for _ in range(3))
    night = _Night(short, long, interrupted, [count_schedules(stack)])
    try:
        _play(night, stack)
    except ScenarioError as error:
        console.print(Text(f"error: {error}", style="red"))
    wait_until_idle(stack)
    deliveries = read_deliveries(stack.delivery_log_path, stack.outputs["SliceFunctionName"], began_at)

    def nap(name: str, seconds: int, conversation: Conversation) -> Nap:
        given = [delivery for delivery in deliveries if delivery.group == conversation.thread_id]
        return Nap(name, seconds, left_behind(conversation, stack), given)

    slept = [nap("short", SHORT_S, short), nap("long", LONG_S, long)]
    woken = nap("interrupted", INTERRUPTED_AFTER_S, interrupted)
    return judge_sleep(Sleep(slept, woken, _beyond_the_first(night.schedules)))


def _play(night: _Night, stack: OfflineStack) -> None:
    _have_sleep(night.short, SHORT_S)
    night.short.wait_for("turn_done")
    night.schedules.append(count_schedules(stack))
    _have_sleep(night.long, LONG_S)
    _have_sleep(night.interrupted, INTERRUPTED_S)
    wait_until_idle(stack)  # a tool_call is told before its timer is started
    night.schedules.append(count_schedules(stack))
    stack.move_clock(INTERRUPTED_AFTER_S)
    night.interrupted.say("Are you awake?")
    night.interrupted.wait_for("turn_done")
    wait_until_idle(stack)
    night.schedules.append(count_schedules(stack))
    stack.move_clock(LONG_S - INTERRUPTED_AFTER_S - REST_S)
    night.long.wait_for("turn_done")
    night.schedules.append(count_schedules(stack))


def _have_sleep(conversation: Conversation, seconds: int) -> None:
    conversation.say(scripted("Rest a while.", calls("sleep", seconds=seconds)))
    conversation.wait_for("tool_call")


def _beyond_the_first(counts: Sequence[int]) -> list[int]:
    """A stack that was up before may have schedules of others."""
    return [count - counts[0] for count in counts[1:]]
