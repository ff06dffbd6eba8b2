"""The events scenario: subscriptions that fire into a conversation, or into a thread for each event, and a flood."""

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from scripts.commands.target import offline_target
from scripts.demonstration.configured import slices_at_once
from scripts.demonstration.events_verdicts import Watched, judge_events
from scripts.demonstration.evidence import read_requests
from scripts.demonstration.families import read_family
from scripts.demonstration.flood import BUDGET, FLOOD_EVENTS, play_flood
from scripts.demonstration.flood_verdicts import judge_flood
from scripts.demonstration.kept import read_counted
from scripts.demonstration.scenarios import Conversation, ScenarioError, new_thread_id, shown_conversation, slices_since
from scripts.demonstration.scripting import calls, reports, says, scripted
from scripts.demonstration.verdicts import Verdict
from scripts.offline_stack.configured import configured
from scripts.offline_stack.stack import OfflineStack
from scripts.storming.account import wait_until_handled

TITLE = "events reach a conversation, or a thread each, once and in order; a flood of them holds nobody else up"
EVENTS, INTERVAL_S = 3, 0.3
# It goes on firing, while the others are played, after it was cancelled.
CANCELLED_EVENTS, CANCELLED_INTERVAL_S = 24, 0.5
PATIENCE_S = 60.0
AT_ONCE = 4

WATCHES: Mapping[str, str] = {
    "cancelled": scripted(
        "Watch for long.",
        calls("watch", events=CANCELLED_EVENTS, interval_s=CANCELLED_INTERVAL_S, associative=True),
    ),
    "associative": scripted(
        "Watch, and tell me.", calls("watch", events=EVENTS, interval_s=INTERVAL_S, associative=True)
    ),
    "threaded": scripted(
        "Watch, and see to each.",
        calls("watch", events=EVENTS, interval_s=INTERVAL_S),
        says("Each has a thread of its own."),
        events=(reports("I saw this: <news>"), says("Seen.")),
    ),
    "overtaken": scripted(
        "Watch, and confirm late.",
        calls("watch", events=EVENTS, interval_s=INTERVAL_S, associative=True, confirmed_after=1),
    ),
}
ENOUGH = scripted("Enough.", calls("cancel_subscription", tool_call_id="<call watch>"), says("I watch no more."))


def run_events(stack: OfflineStack, console: Console) -> Verdict:
    """Play the watches, then the flood, and judge both. What did not come is judged, too."""
    target, began_at = offline_target(stack), stack.now()
    talks = {name: shown_conversation(stack, target, console, new_thread_id("events")) for name in WATCHES}
    fewer_children = configured(stack, {"INFINITY_LIVE_CHILDREN": str(BUDGET)})
    with fewer_children, slices_at_once(stack, AT_ONCE):
        try:
            _play(talks)
        except ScenarioError as error:
            console.print(Text(f"error: {error}", style="red"))
        wait_until_handled(stack, target, PATIENCE_S)
        watched = {name: _left(stack, talk) for name, talk in talks.items()}
        requests = read_requests(stack.model_log_path, began_at)
        flood = play_flood(stack, target, console, FLOOD_EVENTS, BUDGET)
    slices = slices_since(stack, began_at)
    return Verdict([*judge_events(watched, requests), *judge_flood(flood)], slices=len(slices))


def _play(talks: Mapping[str, Conversation]) -> None:
    """Each begins when the one before has been answered: each call beside another would have a process begin."""
    for name, words in WATCHES.items():
        talks[name].say(words)
        talks[name].wait_for("turn_done")
        if name == "cancelled":
            _cancel(talks[name])


def _cancel(talk: Conversation) -> None:
    """When something of it has arrived, and before all has."""
    talk.wait_until(lambda: any("Tick" in each.text_of("text") for each in talk.outputs), "no event arrived")
    talk.say(ENOUGH)
    talk.wait_for("turn_done")


def _left(stack: OfflineStack, talk: Conversation) -> Watched:
    talk.collect()
    return Watched(
        read_family(stack.database_dsn, talk.thread_id, talk.outputs),
        talk.outputs,
        read_counted(stack.invocation_log_path, talk.thread_id),
    )
