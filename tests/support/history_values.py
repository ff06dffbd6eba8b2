"""Values for tests of history: short ones made by hand, and random valid ones."""

from dataclasses import replace
from itertools import count
from typing import Any

from hypothesis import strategies as st

from runtime.model.calls import Call, CallState, CallTarget
from runtime.model.entries import (
    AssistantText,
    Body,
    CancelledCall,
    Entry,
    Event,
    Finish,
    ImageItem,
    Item,
    Origin,
    PayloadRef,
    Reasoning,
    TextItem,
    ToolCall,
    ToolResult,
    Usage,
    UserText,
)
from runtime.model.messages import MessageKey
from runtime.model.threads import (
    Birth,
    Commit,
    Compaction,
    GaveUp,
    Inherited,
    NewThread,
    Person,
    Summary,
    SummaryRef,
    Thread,
    ThreadKind,
    ThreadRow,
    TokensOfDay,
    Wanted,
)

NOTHING_ELSE = Wanted(keys=(), call_ids=(), performed=0)
KEY = MessageKey("text", "user:1")
_numbers = count()


def said(position: int, text: str = "hello", *, created_ms: int = 1_800_000_000_000) -> Entry:
    return Entry(position, position, UserText(text, "user:1"), created_ms)


def call(call_id: str, state: CallState = "pending", *, position: int = 1) -> Call:
    target = CallTarget("builds", "https://builds.example/run", "continue")
    return Call(call_id, "run_build", {"seconds": 5}, state, target, position, 1_800_000_000_000)


def commit_to(thread: Thread, *entries: Entry, **others: Any) -> Commit:
    """Make a commit on top of a loaded thread, with a commit id that nobody else has."""
    version = thread.row.version + 1
    row = replace(
        thread.row,
        head=thread.row.head + len(entries),
        version=version,
        commit_id=f"{thread.row.thread_id}-{version}-{next(_numbers)}",
    )
    return Commit(**{"row": row, "entries": entries, "calls": (), "consumed": (), **others})


def child_of(
    parent: Thread, name: str, *entries: Entry, kind: ThreadKind = "spawned", up_to: int | None = None, **others: Any
) -> NewThread:
    """A thread that begins in a commit to its parent, having inherited everything up to `up_to`, else to the head."""
    row = parent.row
    part = Inherited(row.thread_id, row.head if up_to is None else up_to)
    birth = Birth(kind, (*row.birth.lineage, part), f"call of {name}", f"task of {name}")
    head = part.up_to + len(entries)
    child_id = f"{name} of {row.thread_id}"
    child = ThreadRow(child_id, row.root_id, head, 1, f"begin {child_id}", Person("asker"), birth=birth)
    return NewThread(replace(child, **others), entries)


def summary_of(writer: str, up_to: int, text: str = "so far") -> Summary:
    return Summary(SummaryRef(writer, up_to), text)


# Random ones. No NUL and no lone surrogates: they are replaced when anything is read from outside.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
optional_texts = st.none() | texts
times_ms = st.integers(0, 2**53)
counts = st.integers(0, 2**40)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)
statuses = st.sampled_from(["success", "error"])
usages = st.builds(Usage, counts, counts, counts, counts)
finishes = st.none() | st.builds(Finish, texts, usages)
origins = st.none() | st.builds(Origin, texts, texts, times_ms)
payload_refs = st.builds(PayloadRef, texts, counts)
items: st.SearchStrategy[tuple[Item, ...]] = st.lists(
    st.builds(TextItem, texts) | st.builds(ImageItem, texts, texts, st.none() | payload_refs), max_size=3
).map(tuple)
bodies: st.SearchStrategy[Body] = st.one_of(
    st.builds(UserText, texts, texts, st.none() | payload_refs),
    st.builds(AssistantText, texts, finishes),
    st.builds(Reasoning, optional_texts, optional_texts, optional_texts),
    st.builds(ToolCall, texts, texts, json_objects, optional_texts, st.lists(texts, max_size=2).map(tuple), finishes),
    st.builds(
        ToolResult,
        call_id=texts,
        items=items,
        status=statuses,
        cause=optional_texts,
        origin=origins,
        cancelled=st.none() | st.builds(CancelledCall, texts, texts),
        display_as=optional_texts,
        whole=st.none() | payload_refs,
    ),
    st.builds(
        Event,
        call_id=texts,
        name=texts,
        arguments=json_objects,
        items=items,
        cause=texts,
        source=st.sampled_from(["late_result", "undelivered"]),
        status=statuses,
        origin=origins,
        display_as=optional_texts,
        whole=st.none() | payload_refs,
    ),
)
gave_ups = st.none() | st.builds(GaveUp, texts, texts, texts, st.none() | counts, st.none() | times_ms)
people = st.builds(Person, optional_texts, st.none() | json_objects, times_ms)
days = st.builds(TokensOfDay, st.sampled_from(["", "2026-12-01"]), counts)
calls = st.builds(
    Call,
    call_id=texts,
    name=texts,
    arguments=json_objects,
    state=st.sampled_from(["pending", "answered", "detached", "subscribed", "failed", "cancelled", "ended"]),
    target=st.builds(CallTarget, optional_texts, optional_texts, st.sampled_from(["continue", "cancel", "end"])),
    position=counts,
    committed_ms=times_ms,
    provider_call_id=optional_texts,
    due_ms=st.none() | times_ms,
    turn_start=st.none() | counts,
    user_id=optional_texts,
)
compactions = st.builds(Compaction, texts, counts, times_ms, st.none() | counts)
births = st.builds(
    Birth,
    st.sampled_from(["spawned", "event", "compaction"]),
    st.lists(st.builds(Inherited, texts, counts), min_size=1, max_size=3).map(tuple),
    texts,
    texts,
)


@st.composite
def first_commits(draw: st.DrawFn) -> Commit:
    """A first commit of everything a commit may hold; the thread's id is left to the test."""
    drawn = draw(st.lists(st.tuples(bodies, counts, times_ms, optional_texts), min_size=1, max_size=6))
    entries = tuple(
        Entry(position, turn, body, created_ms, withheld)
        for position, (body, turn, created_ms, withheld) in enumerate(drawn, start=1)
    )
    row = ThreadRow("", "", len(entries), 1, "c", draw(people), draw(days), draw(gave_ups))
    row = replace(row, has_family=draw(st.booleans()), compaction=draw(st.none() | compactions))
    unique_calls = {each.call_id: each for each in draw(st.lists(calls, max_size=4))}
    keys = draw(st.frozensets(st.builds(MessageKey, texts, texts), max_size=4))
    return Commit(row, entries, tuple(unique_calls.values()), tuple(keys))
