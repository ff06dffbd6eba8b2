"""What every history promises of threads that close, and of those that close with them."""

from dataclasses import replace

import pytest

from runtime.errors import FenceLost
from runtime.model.after import after
from runtime.model.threads import (
    Child,
    EndedThread,
    Family,
    Thread,
    Wanted,
)
from runtime.own_messages import last_word_of
from runtime.ports import History
from tests.conformance.family_steps import begin, close, committed, descend
from tests.support.history_values import KEY, NOTHING_ELSE, call, child_of, commit_to, said


def test_a_closing_closes_every_open_thread_below_and_raises_its_version(history: History, root: Thread) -> None:
    line = descend(history, root, 4)
    sibling = child_of(line[0], "sibling", said(line[0].row.head + 1))
    begin(history, line[0], sibling)
    close(history, line[1])

    loaded = [history.load(each.row.thread_id, NOTHING_ELSE) for each in line]

    assert [each.row.closed for each in loaded] == [False, True, True, True, True]
    before = [each.row.version for each in line]
    assert [now.row.version - then for now, then in zip(loaded[1:], before[1:], strict=True)] == [1, 1, 1, 1]
    assert [each.family.ancestors_open for each in loaded] == [True, True, False, False, False]
    assert loaded[0].family == Family((Child(sibling.row.thread_id, sibling.row.birth),), open_threads=1)
    assert history.load(sibling.row.thread_id, NOTHING_ELSE).is_open


def test_a_slice_that_still_runs_below_a_closing_loses(history: History, root: Thread) -> None:
    _, child, grandchild = descend(history, root, 2)
    close(history, child)

    with pytest.raises(FenceLost):
        history.commit(commit_to(grandchild, said(grandchild.row.head + 1), consumed=(KEY,)))

    assert history.load(grandchild.row.thread_id, Wanted((KEY,), (), 0)).inbox == frozenset()


def test_a_closed_thread_is_as_the_slice_that_closed_it_expects(history: History, root: Thread) -> None:
    _, child = descend(history, root, 1)
    begun = [child_of(child, name, said(child.row.head + 1)) for name in ("a", "b")]
    child = begin(history, child, *begun)
    commit = close(history, child)

    assert history.load(child.row.thread_id, NOTHING_ELSE) == after(child, commit)
    assert history.load(child.row.thread_id, NOTHING_ELSE).family == Family(open_threads=0)


def test_a_thread_that_begins_in_the_commit_that_closes_its_parent_is_closed(history: History, root: Thread) -> None:
    _, child = descend(history, root, 1)
    new = child_of(child, "late", said(child.row.head + 1))
    commit = commit_to(child, created=(new,))
    commit = replace(commit, row=replace(commit.row, closed=True, has_family=True))

    loaded = committed(history, commit)

    assert loaded.family == Family()
    assert history.load(new.row.thread_id, NOTHING_ELSE).row.closed


def test_a_lost_fence_closes_nothing(history: History, root: Thread) -> None:
    _, child, grandchild = descend(history, root, 2)
    committed(history, commit_to(child))

    with pytest.raises(FenceLost):
        close(history, child)

    assert history.load(grandchild.row.thread_id, NOTHING_ELSE) == grandchild
    assert history.load(child.row.thread_id, NOTHING_ELSE).is_open
    assert history.ended_with(child.row.thread_id) == ()


def test_a_commit_to_a_closed_thread_closes_nothing_again(history: History, root: Thread) -> None:
    line = descend(history, root, 3)
    close(history, line[2])
    close(history, line[1])
    for closed in (line[1], line[2], line[3]):
        again = history.load(closed.row.thread_id, NOTHING_ELSE)
        commit = commit_to(again)
        assert committed(history, commit) == after(again, commit)

    assert history.load(root.row.thread_id, NOTHING_ELSE).family.open_threads == 0
    assert [each.thread_id for each in history.ended_with(line[1].row.thread_id)] == [line[1].row.thread_id]
    assert len(history.ended_with(line[2].row.thread_id)) == 2


def test_a_closed_thread_names_what_ended_with_it_and_the_calls_that_were_live(history: History, root: Thread) -> None:
    _, child, grandchild = descend(history, root, 2)
    quiet = child_of(grandchild, "quiet", said(grandchild.row.head + 1))
    calls = (call("b", "subscribed"), call("a", "detached"), call("c", "answered"))
    committed(history, commit_to(grandchild, calls=calls, created=(quiet,)))
    ended_before = child_of(child, "before", said(child.row.head + 1))
    child = begin(history, child, ended_before)
    deep = child_of(grandchild, "deep", said(grandchild.row.head + 1))
    begin(history, history.load(grandchild.row.thread_id, NOTHING_ELSE), deep)
    for before in (ended_before, deep):
        close(history, history.load(before.row.thread_id, NOTHING_ELSE))
    child = committed(history, commit_to(child, calls=(call("own", "detached"),)))
    close(history, child)

    first, *below = history.ended_with(child.row.thread_id)

    assert first == EndedThread(child.row.thread_id, (call("own", "detached"),))
    assert sorted(below, key=lambda each: len(each.calls)) == [
        EndedThread(quiet.row.thread_id, ()),
        EndedThread(grandchild.row.thread_id, (call("a", "detached"), call("b", "subscribed"))),
    ]
    assert history.ended_with(grandchild.row.thread_id) == ()
    for before in (ended_before, deep):
        assert history.ended_with(before.row.thread_id) == (EndedThread(before.row.thread_id, ()),)
    assert history.ended_with(root.row.thread_id) == ()


def test_a_compaction_that_ends_was_never_among_the_open_threads(history: History, root: Thread) -> None:
    new = child_of(root, "z", said(5), kind="compaction")
    spawned = child_of(root, "c", said(5))
    begin(history, root, new, spawned)
    close(history, history.load(new.row.thread_id, NOTHING_ELSE))
    assert history.load(root.row.thread_id, NOTHING_ELSE).family.open_threads == 1

    child = history.load(spawned.row.thread_id, NOTHING_ELSE)
    below = child_of(child, "z", said(6), kind="compaction")
    begin(history, child, below)
    close(history, history.load(spawned.row.thread_id, NOTHING_ELSE))
    assert history.load(root.row.thread_id, NOTHING_ELSE).family.open_threads == 0
    assert history.load(below.row.thread_id, NOTHING_ELSE).row.closed


def test_a_thread_of_an_event_knows_the_last_words_of_its_children_until_it_has_consumed_them(
    history: History, root: Thread
) -> None:
    new = child_of(root, "event", said(5), kind="event")
    begin(history, root, new)
    parent = history.load(new.row.thread_id, NOTHING_ELSE)
    children = [child_of(parent, name, said(parent.row.head + 1)) for name in ("a", "b", "open")]
    parent = begin(history, parent, *children, child_of(parent, "summary", said(6), kind="compaction"))
    closing = [history.load(f"{name} of {parent.row.thread_id}", NOTHING_ELSE) for name in ("a", "b", "summary")]
    for thread in closing:
        close(history, thread)
    words = [last_word_of(thread.row.thread_id) for thread in closing[:2]]

    parent = history.load(parent.row.thread_id, NOTHING_ELSE)
    assert parent.family.last_words == frozenset(words)
    commit = commit_to(parent, said(parent.row.head + 1), consumed=(words[0],))
    assert committed(history, commit).family == after(parent, commit).family
    assert after(parent, commit).family.last_words == {words[1]}


def test_what_closed_together_with_an_ancestor_said_no_last_word(history: History, root: Thread) -> None:
    new = child_of(root, "event", said(5), kind="event")
    begin(history, root, new)
    parent = history.load(new.row.thread_id, NOTHING_ELSE)
    parent = begin(history, parent, child_of(parent, "a", said(parent.row.head + 1)))
    close(history, parent)

    assert history.load(parent.row.thread_id, NOTHING_ELSE).family.last_words == frozenset()


def test_no_other_thread_asks_for_last_words(history: History, root: Thread) -> None:
    line = descend(history, root, 2)
    close(history, line[2])

    assert history.load(line[1].row.thread_id, NOTHING_ELSE).family.last_words == frozenset()
