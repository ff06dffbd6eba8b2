"""Threads and trees as they are shown, whatever shows them: as text, as a page or as JSON. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runtime.model.calls import LIVE_STATES, Call
from runtime.model.entries import Entry, Event, JsonObject, ToolResult, Usage
from runtime.model.messages import MessageKey
from runtime.model.threads import Compaction, GaveUp, Inherited, Summary
from runtime.ports import Mark
from scripts.inspection.moments import Moment, as_json, moment_of
from scripts.inspection.reading import Consumed, StoredThread
from scripts.inspection.states import State, state_of
from scripts.inspection.stores import Beside, OpenChoice


@dataclass(frozen=True, slots=True)
class CallView:
    """`answered_ms` is when its real answer, or the news that there is none, entered history."""

    call_id: str
    name: str
    arguments: str
    state: str
    toolset: str | None
    position: int
    since_ms: int
    answered_ms: int | None
    due_ms: int | None


@dataclass(frozen=True, slots=True)
class CommitView:
    """A commit that took messages in. `handled`: all of them have their receipt; None where none was looked up.

    Other commits leave no row that names them: those of the further completions of a slice.
    """

    version: int
    messages: tuple[str, ...]
    positions: tuple[int, ...]
    handled: bool | None


@dataclass(frozen=True, slots=True)
class TurnView:
    """A completion: one request to the model and what came of it."""

    turn: int
    at_ms: int
    stop: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Shown:
    """A view of a tool, cut to nothing where it is kept in the bucket: then `payload_key` says where."""

    view_type: str
    received_ms: int
    content: str
    payload_key: str | None


@dataclass(frozen=True, slots=True)
class NodeView:
    """A thread among others. `tokens` are those of all its completions; `detached`, `subscribed` count its calls."""

    thread_id: str
    parent_id: str | None
    kind: str
    task: str
    state: State
    began_ms: int | None
    tokens: Usage
    completions: int
    detached: int
    subscribed: int


@dataclass(frozen=True, slots=True)
class ThreadView:
    """Everything about one thread; `earlier_entries` are not among the moments, `unread_calls` not among the calls."""

    node: NodeView
    root_id: str
    lineage: tuple[Inherited, ...]
    user_id: str | None
    metadata: JsonObject | None
    head: int
    version: int
    performed: int
    mark: Mark | None
    gave_up: GaveUp | None
    compaction: Compaction | None
    summary: Summary | None
    earlier_entries: int
    moments: tuple[Moment, ...]
    turns: tuple[TurnView, ...]
    calls: tuple[CallView, ...]
    commits: tuple[CommitView, ...]
    choices: tuple[OpenChoice, ...]
    views: tuple[Shown, ...]


@dataclass(frozen=True, slots=True)
class TreeView:
    """The threads below one, parents before their children. `is_cut`: there are more; `hides_open`: also open ones."""

    nodes: tuple[NodeView, ...]
    tokens: Usage
    is_cut: bool
    hides_open: bool


def thread_view(thread: StoredThread, beside: Beside) -> ThreadView:
    row = thread.row
    versions = {each.message_id: each.version for each in thread.consumed}
    moments = tuple(moment_of(entry, versions) for entry in thread.entries)
    return ThreadView(
        node=node_view(thread),
        root_id=row.root_id,
        lineage=row.birth.lineage,
        user_id=row.person.user_id,
        metadata=row.person.metadata,
        head=row.head,
        version=row.version,
        performed=beside.progress.performed,
        mark=beside.progress.mark,
        gave_up=row.gave_up,
        compaction=row.compaction,
        summary=thread.summary,
        earlier_entries=max(0, row.head - row.birth.inherited - len(moments)),
        moments=moments,
        turns=tuple(_turns(thread.completions)),
        calls=tuple(_call_view(call, thread.entries) for call in thread.calls),
        commits=tuple(_commits(thread.consumed, beside, moments)),
        choices=beside.choices,
        views=tuple(
            Shown(view.view_type, view.received_ms, as_json(view.content), view.payload.key if view.payload else None)
            for view in beside.views
        ),
    )


def tree_view(threads: Sequence[StoredThread], limit: int) -> TreeView:
    """Return the first `limit` of these threads as a tree, each parent directly before what is below it.

    The open ones come before the closed ones.
    """
    nodes = [node_view(thread) for thread in threads[:limit]]
    below: dict[str | None, list[NodeView]] = {}
    for node in sorted(nodes, key=lambda each: (each.began_ms or 0, each.thread_id)):
        below.setdefault(node.parent_id, []).append(node)
    ordered = tuple(_with_those_below(nodes[0], below)) if nodes else ()
    hidden = threads[limit:]
    hides_open = any(not thread.row.closed for thread in hidden)
    return TreeView(ordered, total(node.tokens for node in nodes), is_cut=bool(hidden), hides_open=hides_open)


def _with_those_below(node: NodeView, below: dict[str | None, list[NodeView]]) -> Iterable[NodeView]:
    yield node
    for child in below.get(node.thread_id, []):
        yield from _with_those_below(child, below)


def node_view(thread: StoredThread) -> NodeView:
    row = thread.row
    turns = list(_turns(thread.completions))
    states = [call.state for call in thread.calls]
    return NodeView(
        thread_id=row.thread_id,
        parent_id=row.birth.parent_id,
        kind=row.birth.kind,
        task=row.birth.task,
        state=state_of(thread),
        began_ms=thread.first_ms,
        tokens=total(turn.usage for turn in turns),
        completions=len(turns),
        detached=states.count("detached"),
        subscribed=states.count("subscribed"),
    )


def total(usages: Iterable[Usage]) -> Usage:
    """Return the sum of each kind of token."""
    known = list(usages)
    return Usage(
        sum(usage.input_tokens for usage in known),
        sum(usage.output_tokens for usage in known),
        sum(usage.cache_read_tokens for usage in known),
        sum(usage.cache_write_tokens for usage in known),
    )


def _turns(completions: Iterable[Entry]) -> Iterable[TurnView]:
    for entry in completions:
        finish = getattr(entry.body, "finish", None)
        if finish is not None:
            yield TurnView(entry.turn, entry.created_ms, finish.stop, finish.usage)


def _call_view(call: Call, entries: Sequence[Entry]) -> CallView:
    answered_ms = None if call.state in LIVE_STATES else _answered_ms(call, entries)
    return CallView(
        call.call_id,
        call.name,
        as_json(call.arguments),
        call.state,
        call.target.toolset,
        call.position,
        call.committed_ms,
        answered_ms,
        call.due_ms,
    )


def _answered_ms(call: Call, entries: Sequence[Entry]) -> int | None:
    """The last answer counts: the first one of a call that went on elsewhere only said that it does."""
    about = [entry for entry in entries if getattr(entry.body, "call_id", None) == call.call_id]
    answers = [entry.created_ms for entry in about if _is_answer(entry)]
    return answers[-1] if answers else None


def _is_answer(entry: Entry) -> bool:
    body = entry.body
    return isinstance(body, ToolResult) or (isinstance(body, Event) and body.source in ("late_result", "undelivered"))


def _commits(consumed: Sequence[Consumed], beside: Beside, moments: Sequence[Moment]) -> Iterable[CommitView]:
    by_version: dict[int, list[MessageKey]] = {}
    for each in consumed:
        by_version.setdefault(each.version, []).append(MessageKey(each.type, each.message_id))
    for version, keys in sorted(by_version.items()):
        looked_up = beside.looked_up.issuperset(keys)
        yield CommitView(
            version,
            tuple(f"{key.type} {key.message_id}" for key in keys),
            tuple(moment.position for moment in moments if moment.version == version),
            handled=beside.progress.receipts.keys() >= set(keys) if looked_up else None,
        )
