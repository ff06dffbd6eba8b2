"""What must hold once nothing moves any more."""

from runtime.model.entries import Event, ToolResult, UserText
from runtime.model.messages import TextContent, WakeContent
from scripts.simulation.answers import HUGE, SAID_BADLY
from scripts.simulation.conversation import Conversation
from scripts.simulation.ledger import Ledger, causes
from scripts.simulation.rest_of_threads import check_thread
from scripts.simulation.rest_of_wishes import check_wishes
from scripts.simulation.system import System
from scripts.simulation.violation import require

_REFUSALS = {"model_refused", "too_long", "died"}
_WITH_PATIENCE = {"model", "refusal", "answer", "timer", "resend"}
_HARMFUL = {"death", "expiry", "unknown", "outage", "model"}


def check_rest(system: System) -> None:
    """Look at everything.

    Raises:
        Violation: something was lost, or waits for nobody.
    """
    for conversation in system.ledger.conversations.values():
        _check_order(system.ledger, conversation)
        _check_nothing_waits(system, conversation)
        _check_withheld(system, conversation)
        for position in range(conversation.birth.inherited + 1, conversation.head + 1):
            owed = system.ledger.owed(conversation, position)
            require(not owed, "every effect is out in the end", f"{conversation.thread_id} {position}: {owed}")
        _check_calls(system, conversation)
        _check_notices(system, conversation)
        check_thread(system, conversation)
        check_wishes(system, conversation)
    _check_messages(system)
    if not system.profile.poisons and system.profile.faults.keys() <= _WITH_PATIENCE:
        require(
            not system.ledger.redriven, "no outage brings a message to the dead letters", f"{system.ledger.redriven}"
        )
    require(not system.nonsense, "what nobody may say is parked", f"{system.nonsense}")


def _check_order(ledger: Ledger, conversation: Conversation) -> None:
    said, stored = ledger.texts(conversation.thread_id), causes(conversation)
    at = f"{conversation.thread_id}: {stored}, not {said}"
    require(len(stored) == len(set(stored)), "a text enters history once", at)
    in_order = [cause for cause in stored if cause in said]
    expected = said[: len(in_order)] if conversation.closed else said
    require(in_order == expected, "every text enters history, in the order of the queue", at)


def _check_nothing_waits(system: System, conversation: Conversation) -> None:
    if not conversation.asks:
        return
    given_up = conversation.gave_up.get(conversation.version)
    at = f"{conversation.thread_id}: {given_up}"
    require(given_up is not None, "nobody waits for an answer that nobody will give", at)
    consumed = [key for key, (version, _) in conversation.consumed.items() if version == conversation.version]
    contents = [system.ledger.messages[(conversation.thread_id, key)].content for key in consumed]
    attempt = max((content.attempt for content in contents if isinstance(content, WakeContent)), default=0)
    may_end = attempt >= system.settings.give_ups or (given_up is not None and given_up.code == "too_many_completions")
    require(may_end, "who gives up asks again, a number of times", at)


def _check_withheld(system: System, conversation: Conversation) -> None:
    """What was asked about and refused must not be shown for ever; nothing else is withheld while nothing fails."""
    if conversation.closed:
        return
    # What is too long together with others is kept with them, and withheld with them if nothing makes it shorter.
    is_long = any(isinstance(entry.body, UserText) and HUGE in entry.body.text for entry in conversation.entries)
    is_harmless = not is_long and not _HARMFUL & system.profile.faults.keys()
    given_up = conversation.gave_up.get(conversation.version)
    if conversation.asks and given_up is not None and given_up.code not in _REFUSALS:
        return  # it was never asked about
    for entry in conversation.entries:
        at = f"{conversation.thread_id} {entry.position}: {entry.body}"
        if isinstance(entry.body, UserText) and any(word in entry.body.text for word in SAID_BADLY):
            require(entry.withheld, "what cannot be answered is withheld", at)
        elif isinstance(entry.body, UserText) and is_harmless:
            require(not entry.withheld, "no innocent is withheld", at)


def _check_calls(system: System, conversation: Conversation) -> None:
    if conversation.closed:
        return  # nobody waits for them any more
    for call in conversation.calls.values():
        at = f"{conversation.thread_id} {call.call_id} is {call.state}"
        is_over = conversation.closed or call.due_ms is None or call.state != "pending"
        require(is_over, "every sleep ends", at)
        taken = system.tools.taken.get(call.call_id)
        if call.target.toolset is not None and call.state in ("pending", "detached"):
            require(taken is not None, "a call that runs was handed over", at)
        if taken is not None and taken.answers:
            arrived = call.state in ("answered", "subscribed", "cancelled", "ended")
            require(arrived, "what a tool answers arrives", at)


def _check_notices(system: System, conversation: Conversation) -> None:
    told = {notice.body.get("tool_call_id") for notice in system.tools.notices}
    for entry in conversation.entries:
        if isinstance(entry.body, ToolResult | Event) and entry.body.cancelled is not None:
            call_id = entry.body.cancelled.call_id
            require(call_id in told, "the server of a cancelled call is told", f"{conversation.thread_id} {call_id}")
    if conversation.closed and conversation.birth.kind != "compaction":
        closed = {"thread_id": conversation.thread_id} in [notice.body for notice in system.tools.notices]
        require(closed, "servers are told of threads that have closed", conversation.thread_id)


def _check_messages(system: System) -> None:
    for (thread_id, key), message in system.ledger.messages.items():
        conversation = system.ledger.conversation(thread_id)
        if isinstance(message.content, TextContent) and not conversation.closed:
            require(key in conversation.consumed, "no accepted text is lost", f"{thread_id} {key}")
        require((thread_id, key) in system.ledger.receipts, "every accepted message is handled", f"{thread_id} {key}")
