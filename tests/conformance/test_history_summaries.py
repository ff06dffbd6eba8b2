"""What every history promises of summaries: who sees them, what they stand for, and what is frozen with them."""

from dataclasses import replace

import pytest

from runtime.errors import FenceLost
from runtime.model.after import after
from runtime.model.entries import Entry
from runtime.model.threads import Commit, Compaction, Summary, SummaryRef, Thread, Wanted, behind
from runtime.ports import History
from tests.conformance.family_steps import committed, positions
from tests.support.history_values import NOTHING_ELSE, child_of, commit_to, said, summary_of


def visible(thread: Thread) -> tuple[Entry, ...]:
    return behind(thread.row.summarised, thread.entries)


def wanting(*summary_ids: str, performed: int = 0) -> Wanted:
    return Wanted((), (), performed, summary_ids=summary_ids)


def beginning_to_use(thread: Thread, summary: Summary, state: str | None = "state") -> Commit:
    commit = commit_to(thread, said(thread.row.head + 1), frozen_state=state)
    return replace(commit, row=replace(commit.row, summary=summary.ref, has_family=True, compaction=None))


@pytest.fixture
def root(history: History, thread_id: str) -> Thread:
    """A root of six entries."""
    return committed(history, commit_to(history.load(thread_id, NOTHING_ELSE), *map(said, range(1, 7))))


@pytest.fixture
def summary(history: History, root: Thread) -> Summary:
    """What a compaction thread of the root has written about its first four entries."""
    writer = child_of(root, "compaction", said(5, "sum up"), up_to=4, kind="compaction")
    at_work = commit_to(root, created=(writer,))
    compaction = Compaction(writer.row.thread_id, 4, 1_800_000_000_000)
    committed(history, replace(at_work, row=replace(at_work.row, has_family=True, compaction=compaction)))
    written = summary_of(writer.row.thread_id, 4, "four greetings")
    history.commit(commit_to(history.load(writer.row.thread_id, NOTHING_ELSE), said(6), summary=written))
    return written


def test_a_summary_is_there_for_whoever_names_it_and_hides_nothing_yet(
    history: History, root: Thread, summary: Summary
) -> None:
    summary_id = summary.ref.summary_id

    loaded = history.load(root.row.thread_id, wanting(summary_id, "unknown"))

    assert loaded.summaries == {summary_id: summary}
    assert loaded.summary is None
    assert loaded.row.compaction == Compaction(summary_id, 4, 1_800_000_000_000)
    assert positions(loaded) == [1, 2, 3, 4, 5, 6]
    assert history.load("unknown thread", wanting(summary_id)).summaries == {summary_id: summary}


def test_a_summary_in_use_stands_for_what_is_before_it(history: History, root: Thread, summary: Summary) -> None:
    thread = history.load(root.row.thread_id, wanting(summary.ref.summary_id))
    commit = beginning_to_use(thread, summary, "two children at work")
    history.commit(commit)

    loaded = history.load(root.row.thread_id, Wanted((), (), performed=7))

    assert loaded.summary == replace(summary, state="two children at work") == after(thread, commit).summary
    assert positions(loaded) == [5, 6, 7]
    assert loaded.row == after(thread, commit).row
    assert visible(loaded) == visible(after(thread, commit)) == loaded.entries


@pytest.mark.parametrize(("performed", "expected"), [(2, [3, 4, 5, 6, 7]), (6, [5, 6, 7]), (0, [1, 2, 3, 4, 5, 6, 7])])
def test_entries_that_are_owed_come_whether_or_not_a_summary_hides_them(
    history: History, root: Thread, summary: Summary, performed: int, expected: list[int]
) -> None:
    history.commit(beginning_to_use(history.load(root.row.thread_id, NOTHING_ELSE), summary))

    loaded = history.load(root.row.thread_id, wanting(performed=performed))

    assert positions(loaded) == expected
    assert [entry.position for entry in visible(loaded)] == [5, 6, 7]


def test_what_was_frozen_first_stays(history: History, root: Thread, summary: Summary) -> None:
    thread = committed(history, beginning_to_use(history.load(root.row.thread_id, NOTHING_ELSE), summary, "first"))
    again = commit_to(thread, frozen_state="second")

    assert committed(history, again).summary == replace(summary, state="first") == after(thread, again).summary


def test_a_summary_that_is_written_twice_stays_as_it_was(history: History, summary: Summary) -> None:
    writer = history.load(summary.ref.summary_id, NOTHING_ELSE)
    history.commit(commit_to(writer, summary=replace(summary, text="something else")))

    assert history.load("any", wanting(summary.ref.summary_id)).summaries == {summary.ref.summary_id: summary}


def test_a_lost_fence_writes_and_freezes_no_summary(history: History, root: Thread, summary: Summary) -> None:
    writer = history.load(summary.ref.summary_id, NOTHING_ELSE)
    committed(history, commit_to(writer))
    with pytest.raises(FenceLost):
        history.commit(commit_to(writer, summary=summary_of("new", 2)))
    with pytest.raises(FenceLost):
        history.commit(beginning_to_use(root, summary))

    loaded = history.load(root.row.thread_id, wanting("new", summary.ref.summary_id))
    assert loaded.summaries == {summary.ref.summary_id: summary}


def test_a_child_born_before_a_summary_keeps_all_it_inherited(history: History, root: Thread, summary: Summary) -> None:
    child = child_of(root, "c", said(7))
    parent = history.load(root.row.thread_id, NOTHING_ELSE)
    parent = committed(history, commit_to(parent, said(7), created=(child,)))
    committed(history, beginning_to_use(parent, summary))

    loaded = history.load(child.row.thread_id, NOTHING_ELSE)

    assert (loaded.summary, positions(loaded)) == (None, [1, 2, 3, 4, 5, 6, 7])


def test_a_child_born_behind_a_summary_sees_it_and_what_follows(
    history: History, root: Thread, summary: Summary
) -> None:
    parent = committed(history, beginning_to_use(history.load(root.row.thread_id, NOTHING_ELSE), summary))
    child = child_of(parent, "c", said(8), summary=summary.ref)
    committed(history, commit_to(parent, created=(child,)))

    loaded = history.load(child.row.thread_id, NOTHING_ELSE)

    assert loaded.summary == replace(summary, state="state")
    assert positions(loaded) == [5, 6, 7, 8]
    assert visible(loaded) == loaded.entries


@pytest.mark.parametrize(
    ("up_to", "expected"), [(2, [3, 4, 5, 6, 7, 8, 9]), (6, [7, 8, 9]), (8, [9])], ids=["within", "all of it", "more"]
)
def test_a_childs_own_summary_may_end_within_or_behind_what_it_inherited(
    history: History, root: Thread, summary: Summary, up_to: int, expected: list[int]
) -> None:
    own = replace(summary, ref=SummaryRef(f"own of {root.row.thread_id}", up_to))
    parent = history.load(root.row.thread_id, NOTHING_ELSE)
    child = child_of(parent, "c", said(7), said(8))
    committed(history, commit_to(parent, created=(child,)))
    thread = history.load(child.row.thread_id, NOTHING_ELSE)
    thread = committed(history, commit_to(thread, summary=own))
    history.commit(beginning_to_use(thread, own))

    loaded = history.load(child.row.thread_id, Wanted((), (), 9))

    assert (positions(loaded), visible(loaded)) == (expected, loaded.entries)
    assert loaded.summary == replace(own, state="state")
