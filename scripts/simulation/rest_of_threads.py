"""What must hold of a thread and its family once nothing moves any more."""

from runtime.model.calls import RUNNING_STATES
from runtime.model.entries import AssistantText, Reported, ToolResult, UserText
from runtime.model.messages import BounceContent, MessageKey, ParentContent, ReportContent
from runtime.model.threads import Wanted
from scripts.simulation.conversation import Conversation
from scripts.simulation.ledger import Ledger
from scripts.simulation.system import System
from scripts.simulation.violation import require


def check_thread(system: System, conversation: Conversation) -> None:
    """Look at one thread.

    Raises:
        Violation: the store has something else, it stays open for nothing, or something said to it was lost.
    """
    _check_store(system, conversation)
    _check_openness(system.ledger, conversation)
    _check_compaction(system.ledger, conversation)
    _check_words(system.ledger, conversation)
    if conversation.birth.kind == "spawned" and not conversation.closed:
        _check_has_reported(conversation)


def _check_store(system: System, conversation: Conversation) -> None:
    thread = system.ports.history.load(conversation.thread_id, Wanted((), (), conversation.birth.inherited))
    row, at = thread.row, f"{conversation.thread_id}: {thread.row}"
    stored = (row.version, row.head, row.closed, row.compaction)
    known = (conversation.version, conversation.head, conversation.closed, conversation.compaction)
    require(stored == known, "the store has what was acknowledged", f"{at}, not {known}")
    children = [child.thread_id for child in thread.family.children]
    expected = sorted(child.thread_id for child in system.ledger.open_children(conversation))
    require(children == expected, "a parent knows its open children", f"{at}: {children}, not {expected}")


def _check_openness(ledger: Ledger, conversation: Conversation) -> None:
    if conversation.closed:
        return
    at = f"{conversation.thread_id}: {conversation.birth}"
    above = [each for each in ledger.stack(conversation.thread_id) if each.closed]
    require(not above, "nothing is open below what is closed", at)
    if conversation.birth.kind == "event" and not conversation.asks:
        running = [call for call in conversation.calls.values() if call.state in (*RUNNING_STATES, "pending")]
        goes_on = running or ledger.open_children(conversation)
        require(goes_on, "a thread for one event closes when nothing runs for it any more", at)


def _check_compaction(ledger: Ledger, conversation: Conversation) -> None:
    mark = conversation.compaction
    if mark is not None and mark.failed_at is None and not conversation.closed:
        at = f"{conversation.thread_id}: {mark}"
        require(False, "a mark of compaction goes when the compaction has ended", at)
    if conversation.birth.kind == "compaction":
        require(conversation.closed, "a compaction ends", conversation.thread_id)
        ended = MessageKey("compaction_complete", f"compacted:{conversation.thread_id}")
        above = ledger.stack(conversation.thread_id)[-2]
        told = (above.thread_id, ended) in ledger.messages
        # One that closed with the thread it was made for, before anybody could wake it, has nobody to tell.
        require(told or above.closed, "every end of a compaction is told", conversation.thread_id)


def _check_words(ledger: Ledger, conversation: Conversation) -> None:
    """What a family, or a subscription, says arrives; how, and how often, each commit has shown."""
    for (thread_id, key), message in ledger.messages.items():
        is_word = isinstance(message.content, ReportContent | ParentContent | BounceContent)
        if thread_id == conversation.thread_id and is_word and not conversation.closed:
            require(key in conversation.consumed, "what a thread is told by its family arrives", f"{thread_id} {key}")


def _check_has_reported(conversation: Conversation) -> None:
    """A child whose turn is over has said something since it last heard something; it was asked once, at most."""
    if not isinstance(conversation.entries[-1].body, AssistantText):
        return
    bodies = [entry.body for entry in conversation.entries[1:]]
    heard = max((index for index, body in enumerate(bodies) if getattr(body, "cause", None) is not None), default=-1)
    since = bodies[heard + 1 :]
    reported = any(
        (isinstance(body, AssistantText) and body.reports)
        or (isinstance(body, ToolResult) and isinstance(body.deed, Reported))
        for body in since
    )
    asked = sum(isinstance(body, UserText) for body in since)
    at = f"{conversation.thread_id}: {[body.kind for body in since]}"
    require(reported and asked <= 1, "a child that falls silent has reported", at)
