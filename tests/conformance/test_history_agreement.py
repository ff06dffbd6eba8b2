"""Both histories agree on families that grow, spend and close at random."""

import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.adapters.memory.history import MemoryHistory
from runtime.model.threads import Commit, Person, Thread, ThreadKind, TokensOfDay, Wanted
from runtime.ports import History
from tests.support.dsql import connection_to, history_on
from tests.support.history_values import NOTHING_ELSE, call, child_of, commit_to, said, summary_of

DEEPEST = 4


@dataclass(frozen=True)
class Step:
    """A commit to one of the threads there are, counted round; `number` makes what it says different."""

    thread: int
    act: Literal["say", "spawn", "close", "sum up"]
    kind: ThreadKind
    number: int
    day: str


steps = st.lists(
    st.builds(
        Step,
        st.integers(0, 20),
        st.sampled_from(["say", "spawn", "spawn", "spawn", "close", "sum up"]),
        st.sampled_from(["spawned", "event", "compaction"]),
        st.integers(0, 5),
        st.sampled_from(["2026-11-30", "2026-12-01"]),
    ),
    min_size=3,
    max_size=12,
)


@pytest.fixture(scope="module")
def dsql(dsn: str) -> Iterator[History]:
    with closing(connection_to(dsn)) as connection:
        yield history_on(connection)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(taken=steps)
def test_both_histories_say_the_same_of_every_thread(dsql: History, taken: list[Step]) -> None:
    histories = (MemoryHistory(), dsql)
    ids = [str(uuid.uuid4())]
    first = commit_to(histories[0].load(ids[0], NOTHING_ELSE), said(1))
    for history in histories:
        history.commit(first)

    for step in taken:
        thread_id = ids[step.thread % len(ids)]
        commit = commit_of(step, histories[0].load(thread_id, NOTHING_ELSE))
        for history in histories:
            history.commit(commit)
        ids += [new.row.thread_id for new in commit.created]

    for thread_id in ids:
        for wanted in (NOTHING_ELSE, Wanted((), ("c",), 2, "owed"), Wanted((), (), 3, summary_ids=tuple(ids))):
            assert histories[0].load(thread_id, wanted) == histories[1].load(thread_id, wanted)
        assert histories[0].ended_with(thread_id) == histories[1].ended_with(thread_id)


def commit_of(step: Step, thread: Thread) -> Commit:
    """Return what the step does to the thread, where it can; otherwise the thread only says something."""
    row, number = thread.row, step.number
    head = row.head + 1
    spoken = commit_to(thread, said(head, f"{number}"), spent=number, metadata_is_new=number > 2)
    person = Person(f"user {number}", {"number": number}, number)
    commit = replace(spoken, row=replace(spoken.row, person=person, tokens=TokensOfDay(step.day, number)))
    match step.act:
        case "spawn" if len(row.birth.lineage) < DEEPEST and row.birth.kind != "compaction":
            new = child_of(thread, f"{row.version}", said(head), kind=step.kind, summary=row.summary)
            calls = (call("c", "detached", position=head),)
            return replace(commit, created=(replace(new, calls=calls),), row=replace(commit.row, has_family=True))
        case "close" if row.birth.lineage:
            return replace(commit, row=replace(commit.row, closed=True))
        case "sum up" if number:
            summary = summary_of(row.thread_id, min(number, row.head), f"{number}")
            used = replace(commit.row, summary=summary.ref)
            return replace(commit, summary=summary, row=used, frozen_state=f"state {number}" if number > 1 else None)
    return commit
