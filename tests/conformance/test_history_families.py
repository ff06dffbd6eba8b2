"""What every history promises of threads that begin in another's commit and see its entries."""

from dataclasses import replace

import pytest

from runtime.errors import FenceLost, PermanentError
from runtime.model.after import after
from runtime.model.entries import AssistantText, Entry
from runtime.model.threads import (
    Birth,
    Child,
    Commit,
    Compaction,
    Family,
    Inherited,
    Person,
    Thread,
    ThreadRow,
    TokensOfDay,
    Wanted,
)
from runtime.ports import History
from tests.conformance.family_steps import begin, close, committed, descend, positions
from tests.support.history_values import KEY, NOTHING_ELSE, call, child_of, commit_to, said

YESTERDAY, TODAY, TOMORROW = "2026-11-30", "2026-12-01", "2026-12-02"


def test_a_child_sees_what_it_inherits_and_then_its_own_in_one_line(history: History, root: Thread) -> None:
    new = child_of(root, "c", said(5, "your task"), said(6, "more"))
    begin(history, root, new)

    child = history.load(new.row.thread_id, NOTHING_ELSE)

    assert child.row == new.row
    assert child.entries == (*root.entries, *new.entries)
    assert positions(child) == [1, 2, 3, 4, 5, 6]
    assert [child.row.owner_of(position) for position in (4, 5)] == [root.row.thread_id, new.row.thread_id]


def test_what_a_parent_says_after_a_birth_is_not_the_childs(history: History, root: Thread) -> None:
    new = child_of(root, "c", said(5, "yours"))
    parent = begin(history, root, new)
    committed(history, commit_to(parent, said(6, "not yours")))

    texts = [getattr(entry.body, "text", "") for entry in history.load(new.row.thread_id, NOTHING_ELSE).entries]

    assert texts == ["hello"] * 4 + ["yours"]


def test_a_child_of_a_cut_before_the_parents_own_entries_sees_only_the_grandparents(
    history: History, root: Thread
) -> None:
    _, child = descend(history, root, 1)
    grandchild = child_of(child, "g", said(3, "mine"), up_to=2)
    assert grandchild.row.birth.lineage == (Inherited(root.row.thread_id, 4), Inherited(child.row.thread_id, 2))
    cut = replace(grandchild.row.birth, lineage=(Inherited(root.row.thread_id, 2), Inherited(child.row.thread_id, 2)))
    begin(history, child, replace(grandchild, row=replace(grandchild.row, birth=cut)))

    loaded = history.load(grandchild.row.thread_id, NOTHING_ELSE)

    assert loaded.entries == (*root.entries[:2], *grandchild.entries)
    assert loaded.row.birth.parent_id == child.row.thread_id


def test_a_child_that_inherits_nothing_still_has_its_ancestors(history: History, root: Thread) -> None:
    new = child_of(root, "c", said(1, "all there is"), up_to=0)
    begin(history, root, new)
    assert history.load(new.row.thread_id, NOTHING_ELSE).entries == new.entries

    close(history, history.load(root.row.thread_id, NOTHING_ELSE))
    assert not history.load(new.row.thread_id, NOTHING_ELSE).is_open


def test_five_generations_see_one_dense_line_of_positions(history: History, root: Thread) -> None:
    youngest = descend(history, root, 5)[-1]

    assert positions(youngest) == list(range(1, 10))
    assert [part.up_to for part in youngest.row.birth.lineage] == [4, 5, 6, 7, 8]


def test_a_child_commits_on_its_own_and_comes_back_as_the_slice_expects(history: History, root: Thread) -> None:
    _, child = descend(history, root, 1)
    commit = commit_to(child, said(6), calls=(call("c"),), consumed=(KEY,), withheld=(5,), withheld_code="refused")
    history.commit(commit)

    loaded = history.load(child.row.thread_id, Wanted((KEY,), (), 0))

    assert loaded == after(child, commit)
    assert history.load(root.row.thread_id, NOTHING_ELSE).calls == {}


def test_a_child_sees_that_an_inherited_entry_was_withheld_later(history: History, root: Thread) -> None:
    parent, child = descend(history, root, 1)
    committed(history, commit_to(parent, withheld=(2,), withheld_code="refused"))

    assert history.load(child.row.thread_id, NOTHING_ELSE).entries[1].withheld == "refused"


def test_calls_begin_with_their_thread_and_keep_turn_and_user(history: History, root: Thread) -> None:
    theirs = replace(call("c", "detached", position=5), turn_start=4, user_id="asker")
    new = child_of(root, "c", said(5))
    begin(history, root, replace(new, calls=(theirs,)))

    assert history.load(new.row.thread_id, NOTHING_ELSE).calls == {"c": theirs}
    assert history.load(root.row.thread_id, Wanted((), ("c",), 0)).calls == {}


def test_only_what_is_owed_comes_where_no_more_is_wanted(history: History, root: Thread) -> None:
    _, child = descend(history, root, 1)
    history.commit(commit_to(child, said(6), said(7)))

    owed = history.load(child.row.thread_id, Wanted((), (), 6, entries="owed"))

    assert positions(owed) == [7]
    assert positions(history.load(root.row.thread_id, Wanted((), (), 3, entries="owed"))) == [4, 5]
    assert positions(history.load(child.row.thread_id, Wanted((), (), 6))) == [1, 2, 3, 4, 5, 6, 7]


def test_a_lost_fence_begins_no_thread(history: History, root: Thread) -> None:
    committed(history, commit_to(root))
    new = child_of(root, "c", said(5))

    with pytest.raises(FenceLost):
        history.commit(commit_to(root, created=(replace(new, calls=(call("c"),)),), spent=5))

    assert history.load(new.row.thread_id, NOTHING_ELSE) == Thread(ThreadRow(new.row.thread_id, new.row.thread_id))


def test_a_thread_never_begins_twice(history: History, root: Thread) -> None:
    new = child_of(root, "c", said(5))
    parent = begin(history, root, new)

    with pytest.raises(PermanentError):
        history.commit(commit_to(parent, created=(new,), consumed=(KEY,)))

    assert history.load(root.row.thread_id, Wanted((KEY,), (), 0)) == parent


def test_a_parent_knows_its_open_children_and_how_many_threads_are_open_in_the_tree(
    history: History, root: Thread
) -> None:
    names = [child_of(root, name, said(5)) for name in ("b", "a")]
    compaction = child_of(root, "z", said(5), kind="compaction")
    event = child_of(root, "c", said(5), kind="event")
    commit = commit_to(root, said(5), created=(*names, compaction, event))
    commit = replace(commit, row=replace(commit.row, has_family=True))
    parent = committed(history, commit)

    expected = tuple(Child(each.row.thread_id, each.row.birth) for each in (names[1], names[0], event))
    assert parent.family == Family(expected, open_threads=3)
    assert parent == after(root, commit)
    assert history.load(names[0].row.thread_id, NOTHING_ELSE).family == Family(open_threads=3)
    assert history.load(compaction.row.thread_id, NOTHING_ELSE).row.birth.kind == "compaction"


def test_a_root_without_children_knows_of_no_family(history: History, root: Thread) -> None:
    assert history.load(root.row.thread_id, NOTHING_ELSE).family == Family()


def test_a_child_has_its_roots_metadata_and_a_user_of_its_own(history: History, thread_id: str) -> None:
    first = commit_to(history.load(thread_id, NOTHING_ELSE), said(1))
    person = Person("root's user", {"channel": "a"}, 10)
    root = committed(history, replace(first, row=replace(first.row, person=person)))
    parent, child = descend(history, root, 1)
    assert child.row.person == Person("asker", {"channel": "a"}, 10)

    newer = commit_to(parent)
    committed(history, replace(newer, row=replace(newer.row, person=Person("another", {"channel": "b"}, 20))))
    assert history.load(child.row.thread_id, NOTHING_ELSE).row.person == Person("asker", {"channel": "b"}, 20)


@pytest.mark.parametrize(
    ("sent_ms", "expected"), [(21, Person("root's", {"by": "child"}, 21)), (20, Person("root's", {"by": "root"}, 20))]
)
def test_a_child_changes_its_roots_metadata_only_when_its_own_was_sent_later(
    history: History, thread_id: str, sent_ms: int, expected: Person
) -> None:
    first = commit_to(history.load(thread_id, NOTHING_ELSE), said(1))
    root = committed(history, replace(first, row=replace(first.row, person=Person("root's", {"by": "root"}, 20))))
    parent, child = descend(history, root, 1)
    commit = commit_to(child, metadata_is_new=True)
    history.commit(replace(commit, row=replace(commit.row, person=Person("child's", {"by": "child"}, sent_ms))))

    loaded = history.load(thread_id, NOTHING_ELSE)

    assert loaded.row == replace(parent.row, person=expected)
    person = history.load(child.row.thread_id, NOTHING_ELSE).row.person
    assert person == Person("child's", expected.metadata, expected.metadata_sent_ms)
    history.commit(commit_to(parent, said(parent.row.head + 1)))  # the root's slice knew nothing of it
    assert history.load(thread_id, NOTHING_ELSE).row.person == expected


def used_by(thread: Thread, day: str, used: int) -> Commit:
    commit = commit_to(thread, spent=used)
    return replace(commit, row=replace(commit.row, tokens=TokensOfDay(day, used)))


def test_tokens_of_the_whole_tree_are_known_everywhere_in_it(history: History, root: Thread) -> None:
    line = descend(history, root, 2)
    for thread, used in zip(line, (100, 20, 3), strict=True):
        commit = used_by(thread, TODAY, used)
        assert (
            committed(history, commit).family.tokens
            == after(history.load(thread.row.thread_id, NOTHING_ELSE), commit_to(thread)).family.tokens
        )
    line = [history.load(thread.row.thread_id, NOTHING_ELSE) for thread in line]

    assert (line[0].row.tokens, line[0].family.tokens) == (TokensOfDay(TODAY, 100), TokensOfDay(TODAY, 23))
    assert [thread.family.tokens for thread in line[1:]] == [TokensOfDay(TODAY, 123)] * 2
    again = used_by(line[2], TODAY, 7)
    assert committed(history, again).family.tokens == after(line[2], again).family.tokens == TokensOfDay(TODAY, 130)


def test_only_the_newest_day_of_a_tree_counts(history: History, root: Thread) -> None:
    line = descend(history, root, 2)
    line[1] = committed(history, used_by(line[1], YESTERDAY, 20))
    line[2] = committed(history, used_by(line[2], YESTERDAY, 3))
    assert line[2].family.tokens == TokensOfDay(YESTERDAY, 23)
    line[1] = committed(history, used_by(line[1], TODAY, 5))
    assert line[1].family.tokens == TokensOfDay(TODAY, 5)

    late = committed(history, used_by(line[1], YESTERDAY, 1_000))
    assert late.family.tokens == TokensOfDay(TODAY, 5)

    nothing = used_by(late, TOMORROW, 0)
    assert committed(history, nothing).family.tokens == after(late, nothing).family.tokens == TokensOfDay(TODAY, 5)


def test_a_thread_that_begins_keeps_everything_its_row_says(history: History, root: Thread) -> None:
    new = child_of(
        root,
        "c",
        Entry(5, 7, AssistantText("hello"), 9, withheld="x"),
        tokens=TokensOfDay(TODAY, 5),
        compaction=Compaction("other", 3, 5, failed_at=9),
    )
    assert new.row.birth == Birth("spawned", (Inherited(root.row.thread_id, 4),), "call of c", "task of c")
    begin(history, root, new)

    child = history.load(new.row.thread_id, NOTHING_ELSE)

    assert (child.row, child.entries[-1]) == (new.row, new.entries[0])
    assert history.load(root.row.thread_id, NOTHING_ELSE).family.children == (Child(new.row.thread_id, new.row.birth),)
