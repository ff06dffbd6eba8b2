"""How a thread may begin: what it sees of its parent, and the entries it begins with."""

from runtime.identity import child_id
from runtime.model.entries import AssistantText, Entry, Event, ToolCall, ToolResult, UserText
from runtime.model.threads import NewThread
from runtime.settings import Settings
from scripts.simulation.conversation import Conversation
from scripts.simulation.violation import require


def born(new: NewThread, parent: Conversation, settings: Settings) -> Conversation:
    """Return the thread as it begins.

    Raises:
        Violation: it should not begin like this.
    """
    row, birth = new.row, new.row.birth
    at = f"{row.thread_id} of {parent.thread_id}: {birth}"
    require(birth.parent_id == parent.thread_id and row.version == 1, "a child begins below its parent", at)
    require(birth.inherited <= parent.head, "a child sees what its parent has stored", at)
    require(len(birth.lineage) <= settings.thread_depth + 1, "threads are nested only so deep", at)
    positions = [entry.position for entry in new.entries]
    dense = list(range(birth.inherited + 1, row.head + 1))
    require(positions == dense and positions, "positions are dense", f"{at}: {positions}")
    line = (*parent.prefix, *parent.entries)
    _check_seeds(new, line[: birth.inherited], line[birth.inherited :], at)
    return Conversation(
        row.thread_id,
        settings,
        birth,
        line[: birth.inherited],
        version=1,
        entries=list(new.entries),
        calls={call.call_id: call for call in new.calls},
        summary=row.summary,
    )


def _check_seeds(new: NewThread, seen: tuple[Entry, ...], behind: tuple[Entry, ...], at: str) -> None:
    """Check where the inherited part ends: a call may end it only where the first entry answers it."""
    bodies = [entry.body for entry in new.entries]
    unanswered = seen[-1].body.call_id if seen and isinstance(seen[-1].body, ToolCall) else None
    match new.row.birth.kind, bodies:
        case "spawned", [ToolResult(call_id=call_id)]:
            fits = call_id == unanswered
        case "spawned", [UserText()]:
            fits = not seen
        case "event", [ToolCall(call_id=call_id), ToolResult(call_id=answered), Event(cause=cause)]:
            its_own = child_id(new.row.birth.parent_id or "", cause) == new.row.thread_id
            fits = its_own and call_id == answered and unanswered is None
        case "compaction", [UserText()]:
            fits = bool(seen) and _is_answered(seen[-1], behind)
        case _:
            fits = False
    require(fits, "a child sees nothing unanswered, save what it begins with the answer to", f"{at}: {bodies}")


def _is_answered(last: Entry, behind: tuple[Entry, ...]) -> bool:
    """Whether the model has answered this, or it is itself the end of an answer."""
    if isinstance(last.body, AssistantText):
        return last.body.finish is not None
    return last.asks and bool(behind) and not behind[0].asks
