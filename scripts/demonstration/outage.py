"""The outage scenario: for forty minutes the model is away, and nobody does anything about it.

The model endpoint fails by its clock, as each text tells it to: see `scripts.offline_stack.model_endpoint.script`.
Nothing in the product knows of it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from scripts.commands.target import Target, offline_target
from scripts.demonstration.deliveries import read_deliveries
from scripts.demonstration.outage_evidence import Outage, Said
from scripts.demonstration.outage_verdicts import judge_outage
from scripts.demonstration.scenarios import (
    Conversation,
    ScenarioError,
    new_thread_id,
    shown_conversation,
    wait_until_idle,
)
from scripts.demonstration.talks import dead_letters, left_behind
from scripts.demonstration.time_lapse import TimeLapse, count_schedules
from scripts.demonstration.verdicts import Verdict
from scripts.offline_stack.stack import OfflineStack

TITLE = "the model is away for forty minutes; then every conversation goes on by itself"
MINUTE_S = 60
OUTAGE_S = 40 * MINUTE_S
# The build is begun before the outage, and ends in it. A tool works by this machine's time, whatever the stack's is.
BEFORE_S, BUILD_S = 60, 5
BUILDING = "at work"
# The second wake timer of a text said in the first minutes is due at about minute 55, the last of all at about 100.
LONGEST_WAIT_S = 120 * MINUTE_S

# Steps of the scripted model.
AWAY = ({"refuse": "ServiceUnavailableException"},)
THROTTLED = ({"refuse": "ThrottlingException"},)
CUT_OFF = ({"say": "I am"}, {"end": "lost"})


@dataclass(frozen=True, slots=True)
class Line:
    """What a user says, in which conversation, so many seconds after the model went away; and how it fails then."""

    at_s: float
    name: str
    words: str
    failure: Sequence[Mapping[str, str]] = AWAY


LINES = (
    Line(-BEFORE_S, BUILDING, f"Please build for {BUILD_S} seconds."),
    Line(0, "plain", "Is anybody there?"),
    Line(0, "throttled", "Am I asking too much?", THROTTLED),
    Line(30, "cut off", "Do you hear the end of this?", CUT_OFF),
    Line(30, "twice", "One more thing."),
    Line(14 * MINUTE_S, "twice", "And yet another."),
    Line(38 * MINUTE_S, "late", "Am I too late?"),
)


def run_outage(stack: OfflineStack, console: Console) -> Verdict:
    """Play it, show what became of each message, and judge. What did not come is judged, too."""
    target = offline_target(stack)
    outage = _play(LINES, stack, target, console)
    verdict = judge_outage(outage)
    console.print(_table(verdict.rows))
    return verdict


def _play(lines: Sequence[Line], stack: OfflineStack, target: Target, console: Console) -> Outage:
    lapse, dead_before = TimeLapse.of(stack, target), dead_letters(target)
    began_at = stack.now()
    gone_at = began_at + BEFORE_S
    back_at = gone_at + OUTAGE_S
    talks = {line.name: shown_conversation(stack, target, console, new_thread_id("outage")) for line in lines}
    said = []
    for line in lines:
        lapse.until(gone_at + line.at_s)
        message_id = talks[line.name].say(_scripted(line, gone_at, back_at))
        said.append(Said(line.name, line.words, message_id, stack.now()))
        if line.name == BUILDING:
            _wait_for_the_build(talks[BUILDING], console)
            stack.move_clock(max(0, gone_at - stack.now()))  # at once: in steps, the build would be waited for
    _let_time_pass(lapse, [*talks.values()], stack, back_at + LONGEST_WAIT_S)
    return Outage(
        gone_at=gone_at,
        back_at=back_at,
        said=said,
        talks={name: left_behind(talk, stack) for name, talk in talks.items()},
        deliveries=read_deliveries(stack.delivery_log_path, stack.outputs["SliceFunctionName"], began_at),
        dead_letters=dead_letters(target) - dead_before,
        timers_left=count_schedules(stack),
    )


def _wait_for_the_build(talk: Conversation, console: Console) -> None:
    try:
        talk.wait_for("tool_call")
    except ScenarioError as error:
        console.print(Text(f"error: {error}", style="red"))


def _scripted(line: Line, gone_at: float, back_at: float) -> str:
    script = {"from": gone_at, "until": back_at, "steps": line.failure}
    return f"{line.words} [[script: {json.dumps(script)}]]"


def _let_time_pass(lapse: TimeLapse, talks: Sequence[Conversation], stack: OfflineStack, latest: float) -> None:
    """Until every conversation has said that its turn is done and no timer is left, or it is later than `latest`."""
    while stack.now() < latest:
        lapse.until(stack.now() + 2 * MINUTE_S)
        for talk in talks:
            talk.collect()
        answered = all(any(output.type == "turn_done" for output in talk.outputs) for talk in talks)
        if answered and not count_schedules(stack):
            break
    wait_until_idle(stack)


def _table(rows: Sequence[Mapping[str, object]]) -> Table:
    table = Table("message", "said", "tried", "receives", "committed", "answered", "by", "errors seen", box=None)
    for row in rows:
        table.add_row(*(_shown(row[name]) for name in ROW_NAMES))
    return table


ROW_NAMES = ("message", "said_s", "first_tried_s", "receives", "committed_s", "answered_s", "answered_by", "errors")


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{int(value // 60)}:{int(value % 60):02}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
