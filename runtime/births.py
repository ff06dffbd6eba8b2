"""How threads begin: with the call that spawned them, or with one event of a subscription. Pure.

A child sees its parent's history up to a position, under the same ids, so that a provider's cached prefix serves both.
Its first entries are in the commit that creates it; the message that wakes it is a mere wake, which nothing overtakes.
"""

from dataclasses import replace

from runtime import phrases
from runtime.draft import Draft
from runtime.identity import child_id, seed_id_at
from runtime.items import shown_text
from runtime.limits import Limits
from runtime.model.calls import Call, CallTarget
from runtime.model.entries import Body, Entry, Event, TextItem, ToolCall, ToolResult, UserText
from runtime.model.threads import Birth, Inherited, NewThread, Person, ThreadKind, ThreadRow

SPAWN_TOOL = "spawn_thread"
_TASK_CHARS = 300
# What a thread says to another is cut to this: it has to fit a message of ours, and a row beside what it is said with.
SAID_CHARS = 50_000


def stack_of(row: ThreadRow) -> list[str]:
    """Return the ids from the root down to this thread."""
    return [part.thread_id for part in row.birth.lineage] + [row.thread_id]


def why_no_child(draft: Draft, limits: Limits) -> str | None:
    """Return why no further child may begin here, or None."""
    if len(draft.row.birth.lineage) >= limits.thread_depth:
        return f"threads may be nested {limits.thread_depth} deep, and this one is at that depth"
    if len(draft.children) >= limits.live_children:
        return f"a thread may have {limits.live_children} open children, and this one has"
    if draft.thread.family.open_threads + len(draft.created) >= limits.open_threads:
        return f"a conversation may have {limits.open_threads} open threads, and this one has"
    return None


def takes_events_itself(draft: Draft, limits: Limits) -> bool:
    """Whether events get no threads of their own here: for want of room, or because this one was made for an event.

    Such a thread closes when nothing runs for it any more, and would not hear of threads below that end in silence.
    """
    return draft.row.birth.kind == "event" or why_no_child(draft, limits) is not None


def spawned_child(draft: Draft, call: ToolCall, instructions: str, *, inherits: bool, now_ms: int) -> NewThread:
    """Return the child that the call at the draft's tail begins.

    It sees everything up to and including that call, of which its first entry is another result; or, where it inherits
    nothing, it begins with its instructions alone.
    """
    cut_off = draft.head if inherits else 0
    thread_id = child_id(draft.thread_id, call.call_id)
    seed: Body = UserText(phrases.task_alone(thread_id, instructions))
    if inherits:
        seed = ToolResult(call.call_id, (TextItem(phrases.you_are_inside(thread_id, instructions)),))
    row = _row(draft, thread_id, _birth(draft, "spawned", cut_off, call.call_id, instructions))
    own_call = answered_by_runtime(call, draft, now_ms)
    turn = draft.tail.turn if inherits and draft.tail else 1
    return _begun(row, [seed], turn, (own_call,), now_ms)


def answered_by_runtime(call: ToolCall, draft: Draft, now_ms: int) -> Call:
    """Return the row of a call that the runtime has answered: what is said later about it finds its name there."""
    target = CallTarget(None, None)
    return Call(call.call_id, call.name, call.arguments, "answered", target, draft.head, now_ms)


def event_child(draft: Draft, call: Call, event: Event, now_ms: int) -> NewThread:
    """Return the thread that handles this one event. It sees what is completely answered of its parent's history."""
    pending = next((each for each in draft.all_calls().values() if each.state == "pending"), None)
    cut_off = draft.head if pending is None else (pending.turn_start or pending.position) - 1
    thread_id = child_id(draft.thread_id, event.cause)
    row = _row(draft, thread_id, _birth(draft, "event", cut_off, call.call_id, f"an event of {call.name}"))
    arguments = {"instructions": phrases.HANDLE_ONE_EVENT, "child_of": stack_of(draft.row)}
    seed_call = ToolCall(seed_id_at(thread_id, cut_off + 1), SPAWN_TOOL, arguments)
    seed_result = ToolResult(seed_call.call_id, (TextItem(phrases.inside_event(thread_id)),))
    own_call = replace(call, state="answered")
    return _begun(row, [seed_call, seed_result, event], cut_off + 1, (own_call,), now_ms)


def compaction_thread(draft: Draft, cut_off: int, now_ms: int) -> NewThread:
    """Return the thread that summarises everything up to the cut-off, while this one goes on."""
    thread_id = child_id(draft.thread_id, draft.thread.row.version + 1)
    row = _row(draft, thread_id, _birth(draft, "compaction", cut_off, "", "a summary of the conversation"))
    return _begun(row, [UserText(phrases.SUMMARISE)], cut_off + 1, (), now_ms)


def _birth(draft: Draft, kind: ThreadKind, cut_off: int, call_id: str, task: str) -> Birth:
    inherited = tuple(replace(part, up_to=min(part.up_to, cut_off)) for part in draft.row.birth.lineage)
    lineage = (*inherited, Inherited(draft.thread_id, cut_off))
    return Birth(kind, lineage, call_id, shown_text(task, _TASK_CHARS))


def _row(draft: Draft, thread_id: str, birth: Birth) -> ThreadRow:
    summary = draft.row.summary
    return ThreadRow(
        thread_id=thread_id,
        root_id=draft.row.root_id,
        head=birth.inherited,
        version=1,
        person=Person(user_id=draft.row.person.user_id),
        birth=birth,
        # What stands for the beginning of the parent's history now does so for the child, whatever comes later.
        summary=summary if summary is not None and summary.up_to <= birth.inherited else None,
    )


def _begun(row: ThreadRow, bodies: list[Body], turn: int, calls: tuple[Call, ...], now_ms: int) -> NewThread:
    first = row.head + 1
    entries = tuple(Entry(first + index, turn, body, now_ms) for index, body in enumerate(bodies))
    return NewThread(replace(row, head=row.head + len(entries)), entries, calls)
