"""What every history promises: the one in memory and the one in Aurora DSQL."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings

from runtime.errors import FenceLost, OutcomeUnknown, PermanentError, RuntimeProblem
from runtime.model.after import after
from runtime.model.calls import LIVE_STATES, CallState
from runtime.model.entries import AssistantText, Entry, ToolCall
from runtime.model.messages import MessageKey
from runtime.model.threads import Commit, GaveUp, Person, Thread, ThreadRow, TokensOfDay, Wanted
from runtime.ports import History
from tests.conformance.history_stores import Store
from tests.support.history_values import KEY, NOTHING_ELSE, call, commit_to, first_commits, said


def test_an_unknown_thread_has_version_zero_no_entries_and_its_own_id_as_root(history: History, thread_id: str) -> None:
    assert history.load(thread_id, Wanted((KEY,), ("call",), 0)) == Thread(ThreadRow(thread_id, root_id=thread_id))


def test_a_first_commit_comes_back_as_it_was(history: History, thread_id: str) -> None:
    row = ThreadRow(
        thread_id,
        root_id="another thread",
        head=2,
        version=1,
        commit_id="ours",
        person=Person("nobody", {"user_id": "nobody", "b": 1, "a": [2.5, None, "é"]}, 1_800_000_000_000),
        tokens=TokensOfDay("2026-12-01", 12_345),
        gave_up=GaveUp("user:1", "model_unavailable", "try later", 2, 1_800_000_900_000),
    )
    entries = (said(1), Entry(2, 1, ToolCall("c", "run_build", {"z": 1, "a": 2}), 1_800_000_000_001))
    history.commit(Commit(row, entries, (call("c", position=2),), (KEY,)))

    loaded = history.load(thread_id, Wanted((KEY,), (), 0))

    assert loaded == Thread(row, entries, {"c": call("c", position=2)}, frozenset({KEY}))
    assert isinstance(loaded.entries[1].body, ToolCall)
    assert list(loaded.entries[1].body.arguments) == ["z", "a"]
    assert loaded.row.person.metadata is not None
    assert list(loaded.row.person.metadata) == ["user_id", "b", "a"]


def test_commits_one_after_the_other_give_dense_positions_and_the_state_the_slice_expects(
    history: History, thread_id: str
) -> None:
    thread = history.load(thread_id, NOTHING_ELSE)
    for number in range(1, 13):
        commit = commit_to(thread, said(2 * number - 1), said(2 * number))
        history.commit(commit)
        thread = after(thread, commit)

    loaded = history.load(thread_id, NOTHING_ELSE)

    assert loaded == thread
    assert [entry.position for entry in loaded.entries] == list(range(1, 25))


def test_order_is_by_position_when_clocks_stand_still_or_run_backwards(history: History, thread_id: str) -> None:
    thread = history.load(thread_id, NOTHING_ELSE)
    moments = (1_800_000_000_000, 1_800_000_000_000, 1_799_999_000_000, 1_800_000_000_000, 0)
    entries = tuple(said(position, created_ms=moment) for position, moment in enumerate(moments, start=1))
    history.commit(commit_to(thread, *entries))

    assert history.load(thread_id, NOTHING_ELSE).entries == entries


def test_a_commit_on_an_old_version_is_refused_and_writes_nothing(history: History, thread_id: str) -> None:
    empty = history.load(thread_id, NOTHING_ELSE)
    first = commit_to(empty, said(1, "first"), calls=(call("c"),))
    history.commit(first)
    second = commit_to(after(empty, first), said(2, "second"))
    history.commit(second)
    stale = commit_to(
        after(empty, first),
        said(2, "stale"),
        said(3),
        calls=(call("c", "answered"), call("d")),
        consumed=(KEY,),
        withheld=(1,),
        withheld_code="model_refused",
    )

    with pytest.raises(FenceLost):
        history.commit(stale)

    wanted = Wanted((KEY,), ("c", "d"), 0)
    assert history.load(thread_id, wanted) == after(after(empty, first), second)


def test_a_commit_on_a_version_that_does_not_exist_yet_is_refused(history: History, thread_id: str) -> None:
    empty = history.load(thread_id, NOTHING_ELSE)
    first = commit_to(empty, said(1))
    second = commit_to(after(empty, first), said(2))
    with pytest.raises(FenceLost):
        history.commit(second)
    history.commit(first)
    with pytest.raises(FenceLost):
        history.commit(commit_to(after(after(empty, first), second), said(3)))

    assert history.load(thread_id, NOTHING_ELSE) == after(empty, first)


def test_the_second_of_two_first_commits_is_refused_and_writes_nothing(store: Store, thread_id: str) -> None:
    empty = store.open().load(thread_id, NOTHING_ELSE)
    first = commit_to(empty, said(1, "first"))
    store.open().commit(first)

    with pytest.raises(FenceLost):
        store.open().commit(commit_to(empty, said(1, "late"), said(2), consumed=(KEY,)))

    assert store.open().load(thread_id, Wanted((KEY,), (), 0)) == after(empty, first)


@pytest.mark.parametrize("existing", [False, True], ids=["a new thread", "an existing thread"])
def test_of_several_writers_on_one_version_exactly_one_wins(store: Store, thread_id: str, existing: bool) -> None:
    thread = store.open().load(thread_id, NOTHING_ELSE)
    if existing:
        first = commit_to(thread, said(1))
        store.open().commit(first)
        thread = after(thread, first)
    commits = [commit_to(thread, said(thread.row.head + 1, f"writer {number}")) for number in range(4)]
    commits = [replace(each, row=replace(each.row, commit_id=f"w{n}")) for n, each in enumerate(commits)]

    with ThreadPoolExecutor(len(commits)) as pool:
        outcomes = list(pool.map(_outcome, [store.open() for _ in commits], commits))

    assert outcomes.count("committed") == 1
    assert outcomes.count("FenceLost") == len(commits) - 1
    winner = commits[outcomes.index("committed")]
    assert store.open().load(thread_id, NOTHING_ELSE) == after(thread, winner)


def test_the_inbox_knows_a_message_by_type_and_id_together(history: History, thread_id: str) -> None:
    consumed = (MessageKey("text", "user:1"), MessageKey("wake", "wake:1"))
    others = (MessageKey("text", "wake:1"), MessageKey("wake", "user:1"), MessageKey("text", "user:2"))
    history.commit(commit_to(history.load(thread_id, NOTHING_ELSE), consumed=consumed))

    assert history.load(thread_id, Wanted((*others, *consumed), (), 0)).inbox == frozenset(consumed)
    assert history.load(thread_id, Wanted(others, (), 0)).inbox == frozenset()
    assert history.load(thread_id, NOTHING_ELSE).inbox == frozenset()
    assert history.load(f"not {thread_id}", Wanted(consumed, (), 0)).inbox == frozenset()


def test_a_message_that_left_no_entry_is_still_found_after_many_commits(history: History, thread_id: str) -> None:
    thread = history.load(thread_id, NOTHING_ELSE)
    for number in range(20):
        commit = commit_to(thread, consumed=(MessageKey("text", f"user:{number}"),))
        history.commit(commit)
        thread = after(thread, commit)

    wanted = (MessageKey("text", "user:0"), MessageKey("text", "user:20"))
    assert history.load(thread_id, Wanted(wanted, (), 0)).inbox == frozenset(wanted[:1])


def test_a_message_is_never_consumed_twice(history: History, thread_id: str) -> None:
    empty = history.load(thread_id, NOTHING_ELSE)
    first = commit_to(empty, said(1), consumed=(KEY,))
    history.commit(first)

    with pytest.raises(PermanentError):
        history.commit(commit_to(after(empty, first), said(2), consumed=(KEY,)))

    assert history.load(thread_id, Wanted((KEY,), (), 0)) == after(empty, first)


def test_live_calls_come_by_themselves_and_finished_ones_when_they_are_asked_for(
    history: History, thread_id: str
) -> None:
    states: tuple[CallState, ...] = get_args(CallState)
    calls = {state: call(state, state) for state in states}
    history.commit(commit_to(history.load(thread_id, NOTHING_ELSE), calls=tuple(calls.values())))

    live = {state: calls[state] for state in states if state in LIVE_STATES}
    asked = {state: calls[state] for state in states if state in ("failed", "ended")}
    assert history.load(thread_id, NOTHING_ELSE).calls == live
    assert history.load(thread_id, Wanted((), ("failed", "ended", "pending", "unknown"), 0)).calls == live | asked
    assert history.load(f"not {thread_id}", Wanted((), states, 0)).calls == {}


def test_a_call_is_replaced_as_a_whole_by_its_id(history: History, thread_id: str) -> None:
    thread = history.load(thread_id, NOTHING_ELSE)
    for version in (call("c", "pending"), replace(call("c", "answered"), due_ms=5, provider_call_id="p", position=9)):
        commit = commit_to(thread, calls=(version,))
        history.commit(commit)
        thread = after(thread, commit)
        assert history.load(thread_id, Wanted((), ("c",), 0)).calls == {"c": version}


def test_older_entries_are_marked_withheld_and_stay_where_they_are(history: History, thread_id: str) -> None:
    empty = history.load(thread_id, NOTHING_ELSE)
    first = commit_to(empty, said(1), said(2), said(3))
    history.commit(first)
    new = Entry(4, 4, AssistantText("sorry"), 1_800_000_000_000, withheld="model_refused")
    marking = commit_to(after(empty, first), new, withheld=(1, 3), withheld_code="model_refused")
    history.commit(marking)

    loaded = history.load(thread_id, NOTHING_ELSE)

    assert loaded == after(after(empty, first), marking)
    assert [entry.withheld for entry in loaded.entries] == ["model_refused", None, "model_refused", "model_refused"]


def test_the_thread_row_is_replaced_as_a_whole(history: History, thread_id: str) -> None:
    empty = history.load(thread_id, NOTHING_ELSE)
    giving_up = commit_to(empty)
    told = replace(giving_up.row, gave_up=GaveUp("m", "c", "t", None, None), person=Person("u", {"a": 1}, 7))
    history.commit(replace(giving_up, row=told))
    going_on = commit_to(after(empty, giving_up))
    going_on = replace(going_on, row=replace(going_on.row, person=Person(None, {"b": 2}, 8)))
    history.commit(going_on)

    assert history.load(thread_id, NOTHING_ELSE).row == going_on.row


@pytest.mark.parametrize("sent_ms", [6, 7], ids=["older", "as old"])
def test_metadata_gives_way_only_to_what_was_sent_later(history: History, thread_id: str, sent_ms: int) -> None:
    empty = history.load(thread_id, NOTHING_ELSE)
    first = commit_to(empty)
    first = replace(first, row=replace(first.row, person=Person("u", {"a": 1}, 7)))
    history.commit(first)
    late = commit_to(after(empty, first))
    late = replace(late, row=replace(late.row, person=Person("w", {"b": 2}, sent_ms)))
    history.commit(late)

    loaded = history.load(thread_id, NOTHING_ELSE)

    assert loaded == after(after(empty, first), late)
    assert loaded.row.person == Person("w", {"a": 1}, 7)


def test_a_large_value_comes_back_as_it_was(history: History, thread_id: str) -> None:
    entry = said(1, 'é"\\\n' * 120_000)
    history.commit(commit_to(history.load(thread_id, NOTHING_ELSE), entry))

    assert history.load(thread_id, NOTHING_ELSE).entries == (entry,)


def test_what_was_loaded_stays_as_it_was_when_somebody_commits(store: Store, thread_id: str) -> None:
    first = commit_to(store.open().load(thread_id, NOTHING_ELSE), said(1), calls=(call("c"),))
    store.open().commit(first)
    loaded = store.open().load(thread_id, NOTHING_ELSE)
    store.open().commit(commit_to(loaded, said(2), calls=(call("c", "answered"),), withheld=(1,), withheld_code="x"))

    assert loaded == Thread(first.row, first.entries, {"c": call("c")})


@pytest.mark.parametrize("committed", [True, False], ids=["happened", "did not happen"])
def test_a_commit_without_a_reply_is_unknown_until_a_fresh_load_tells(
    store: Store, thread_id: str, committed: bool
) -> None:
    history = store.open_losing_a_reply(committed=committed)
    empty = history.load(thread_id, NOTHING_ELSE)
    commit = commit_to(empty, said(1), consumed=(KEY,))

    with pytest.raises(OutcomeUnknown):
        history.commit(commit)

    loaded = history.load(thread_id, Wanted((KEY,), (), 0))
    assert loaded == (after(empty, commit) if committed else empty)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=first_commits())
def test_any_valid_history_is_the_same_after_storing_and_loading(history: History, drawn: Commit) -> None:
    thread_id = str(uuid.uuid4())
    commit = replace(drawn, row=replace(drawn.row, thread_id=thread_id, root_id=thread_id))
    history.commit(commit)

    loaded = history.load(thread_id, Wanted(commit.consumed, tuple(each.call_id for each in commit.calls), 0))

    expected = after(Thread(ThreadRow(thread_id, thread_id)), commit)
    assert loaded == expected
    assert repr(loaded.entries) == repr(expected.entries)  # keys in their order, 1 apart from 1.0
    assert repr(loaded.row) == repr(expected.row)


def _outcome(history: History, commit: Commit) -> str:
    try:
        history.commit(commit)
    except RuntimeProblem as problem:
        return type(problem).__name__
    return "committed"
