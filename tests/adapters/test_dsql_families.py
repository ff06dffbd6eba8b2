"""Threads with families in Aurora DSQL: what they cost at the wire, and who wins when a tree changes in two places."""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import pairwise
from threading import Barrier

import psycopg
import pytest

from runtime.adapters.aws.dsql_commit import commit_statements
from runtime.adapters.aws.dsql_history import DsqlHistory
from runtime.adapters.aws.dsql_statements import for_schema
from runtime.adapters.memory.clock import ManualClock
from runtime.errors import FenceLost, PermanentError
from runtime.model.after import after
from runtime.model.threads import Commit, Person, Thread, TokensOfDay, Wanted
from scripts.offline_stack.throwaway import DsnFactory
from tests.support.dsql import SCHEMA, connection_to, endpoint_of, history_on, migrated
from tests.support.history_values import KEY, NOTHING_ELSE, call, child_of, commit_to, said, summary_of
from tests.support.wire_counter import WireCounter, counting

ROUNDS = 40


class ClockThatLetsGo(ManualClock):
    """At the first wait after a conflict, whoever caused it commits."""

    def __init__(self, holder: psycopg.Connection[psycopg.rows.TupleRow]) -> None:
        super().__init__()
        self._holder = holder
        self.waits = 0

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.waits += 1
        self._holder.commit()


@pytest.fixture(scope="module")
def dsn(fresh_dsn: DsnFactory) -> str:
    return migrated(fresh_dsn())


@pytest.fixture
def wire(dsn: str) -> Iterator[WireCounter]:
    endpoint = endpoint_of(dsn)
    with counting(endpoint.host, endpoint.port) as counter:
        yield counter


@pytest.fixture
def history(dsn: str, wire: WireCounter) -> Iterator[DsqlHistory]:
    with closing(connection_to(dsn, port=wire.port, clock=ManualClock())) as connection:
        warm = history_on(connection)
        warm.load("any thread", NOTHING_ELSE)
        yield warm


@pytest.fixture
def line(dsn: str) -> list[Thread]:
    """A root, and five generations below it."""
    with closing(connection_to(dsn)) as connection:
        history = history_on(connection)
        ids = [str(uuid.uuid4()) for _ in range(6)]
        history.commit(commit_to(history.load(ids[0], NOTHING_ELSE), said(1)))
        for parent_id, child_id in pairwise(ids):
            history.commit(beginning(history.load(parent_id, NOTHING_ELSE), child_id))
        return [history.load(thread_id, NOTHING_ELSE) for thread_id in ids]


def beginning(parent: Thread, child_id: str) -> Commit:
    """A commit in which this thread begins, with one entry."""
    new = child_of(parent, "any", said(parent.row.head + 1))
    new = replace(new, row=replace(new.row, thread_id=child_id, commit_id=f"begin {child_id}"))
    commit = commit_to(parent, created=(new,))
    return replace(commit, row=replace(commit.row, has_family=True))


def ending(thread: Thread) -> Commit:
    commit = commit_to(thread)
    return replace(commit, row=replace(commit.row, closed=True))


@contextmanager
def held(dsn: str, commit: Commit) -> Iterator[psycopg.Connection[psycopg.rows.TupleRow]]:
    """A commit that has written everything and is not committed yet."""
    with psycopg.connect(dsn) as holder:
        holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        for statement in commit_statements(for_schema(SCHEMA), commit):
            holder.execute(statement.sql, statement.values)
        yield holder


def test_a_load_costs_two_exchanges_and_the_same_statements_at_every_depth(
    history: DsqlHistory, wire: WireCounter, line: list[Thread]
) -> None:
    costs = []
    for thread in line:
        wire.reset()
        history.load(thread.row.thread_id, Wanted((KEY,), ("c",), 0, summary_ids=("s",)))
        costs.append((wire.exchanges, len(wire.statements), wire.connections))

    assert costs == [(2, 4 + 5, 0)] * 6


def test_what_a_tree_costs_to_commit_is_one_exchange_and_a_statement_for_each_fact(
    history: DsqlHistory, wire: WireCounter, line: list[Thread]
) -> None:
    child = line[3]
    new = replace(child_of(child, "new", said(child.row.head + 1)), calls=(call("d"),))
    everything = commit_to(
        child,
        said(child.row.head + 1),
        calls=(call("c"),),
        consumed=(KEY,),
        created=(new,),
        spent=5,
        metadata_is_new=True,
        summary=summary_of("s", 1),
        frozen_state="state",
    )
    row = replace(everything.row, person=Person("u", {"a": 1}, 5), summary=summary_of("s", 1).ref, closed=True)
    wire.reset()

    history.commit(replace(everything, row=row))

    assert (wire.exchanges, len(wire.statements)) == (1, 13)


def test_a_root_that_spends_tokens_and_has_children_commits_as_it_did_without_them(
    history: DsqlHistory, wire: WireCounter, line: list[Thread]
) -> None:
    wire.reset()
    commit = commit_to(line[0], said(2), consumed=(KEY,), spent=500)
    history.commit(replace(commit, row=replace(commit.row, tokens=TokensOfDay("2026-12-01", 500))))

    assert (wire.exchanges, len(wire.statements)) == (1, 3)


def test_a_thread_that_begins_while_an_ancestor_closes_is_closed_with_it(dsn: str, line: list[Thread]) -> None:
    late = str(uuid.uuid4())
    with held(dsn, beginning(line[3], late)) as holder:
        clock = ClockThatLetsGo(holder)
        with closing(connection_to(dsn, clock=clock)) as connection:
            history = history_on(connection)
            history.commit(ending(line[1]))
            assert history.load(late, NOTHING_ELSE).row.closed
            assert history.load(line[0].row.thread_id, NOTHING_ELSE).family.open_threads == 0
    assert clock.waits >= 1


def test_a_thread_does_not_begin_once_an_ancestor_is_closing(dsn: str, line: list[Thread]) -> None:
    late = str(uuid.uuid4())
    with held(dsn, ending(line[1])) as holder:
        clock = ClockThatLetsGo(holder)
        with closing(connection_to(dsn, clock=clock)) as connection:
            history = history_on(connection)
            with pytest.raises(FenceLost):
                history.commit(beginning(line[4], late))
            assert history.load(late, NOTHING_ELSE).row.version == 0
            assert history.load(line[0].row.thread_id, NOTHING_ELSE).family.open_threads == 0
    assert clock.waits >= 1


def test_of_two_closings_within_each_other_both_happen_and_each_thread_is_counted_once(
    dsn: str, line: list[Thread]
) -> None:
    with held(dsn, ending(line[3])) as holder:
        clock = ClockThatLetsGo(holder)
        with closing(connection_to(dsn, clock=clock)) as connection:
            history = history_on(connection)
            history.commit(ending(line[2]))
            ended = [len(history.ended_with(thread.row.thread_id)) for thread in line]
            family = history.load(line[0].row.thread_id, NOTHING_ELSE).family
    assert ended == [0, 0, 1, 3, 0, 0]
    assert family.open_threads == 1


def test_no_thread_stays_open_below_a_closed_one_whoever_is_faster(dsn: str, line: list[Thread]) -> None:
    """Rounds of a closing against a birth two generations below, each on a connection of its own."""
    with closing(connection_to(dsn)) as one, closing(connection_to(dsn)) as other, ThreadPoolExecutor(2) as pool:
        histories = [history_on(one), history_on(other)]
        barrier = Barrier(2)

        def commit_at_once(history: DsqlHistory, commit: Commit) -> str:
            barrier.wait()
            try:
                history.commit(commit)
            except FenceLost:
                return "lost"
            return "won"

        root = line[0]
        for _ in range(ROUNDS):
            top, middle, late = (str(uuid.uuid4()) for _ in range(3))
            histories[0].commit(beginning(histories[0].load(root.row.thread_id, NOTHING_ELSE), top))
            histories[0].commit(beginning(histories[0].load(top, NOTHING_ELSE), middle))
            closes = ending(histories[0].load(top, NOTHING_ELSE))
            begins = beginning(histories[1].load(middle, NOTHING_ELSE), late)

            outcomes = list(pool.map(commit_at_once, histories, [closes, begins]))

            loaded = histories[0].load(late, NOTHING_ELSE)
            assert outcomes[0] == "won"
            assert (outcomes[1], loaded.row.version, loaded.row.closed) in [("lost", 0, False), ("won", 2, True)]
        assert histories[0].load(root.row.thread_id, NOTHING_ELSE).family.open_threads == len(line) - 1


def test_relatives_are_found_by_key_in_a_large_tree(dsn: str, line: list[Thread]) -> None:
    texts = for_schema(SCHEMA)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO infinity.threads (thread_id, root_id, head, version, commit_id, metadata_sent_ms, tokens_day,"
            " tokens_used, parent_id, kind, birth, is_open, closed_by)"
            " SELECT 't' || n, 'r', 1, 1, 'c', 0, '', 0, 'p' || n / 10, 'spawned', '{}', n % 10 = 0, 'p' || n / 10"
            " FROM generate_series(1, 20000) AS n"
        )
        connection.execute(
            "INSERT INTO infinity.entries SELECT 't' || n % 10, n, n, 'user', '{}', 0 FROM generate_series(1, 20000) n"
        )
        connection.execute("ANALYZE infinity.threads")
        connection.execute("ANALYZE infinity.entries")
        questions = [
            (texts.ancestors, (["t1", "t2"],)),
            (texts.inherited_entries, (["t1", "t2"], [0, 100], [100, 200])),
            (texts.children, ("p7", "p8", "thread_report", "closed:")),
            (texts.children, ("p7", None, "thread_report", "closed:")),
            (texts.ended, ("p7", ["pending"], "p7")),
            (texts.close_descendants, ("p7", line[0].row.thread_id, line[0].row.commit_id, "p7")),
        ]
        plans = [
            "\n".join(row[0] for row in connection.execute(f"EXPLAIN {text}", values)) for text, values in questions
        ]

    assert [plan for plan in plans if "Seq Scan on threads" in plan or "Seq Scan on entries" in plan] == []


def test_what_begins_counts_towards_the_limits_of_a_transaction(history: DsqlHistory, line: list[Thread]) -> None:
    child = line[1]
    new = child_of(child, "large", *(said(child.row.head + 1 + number, "") for number in range(2_998)))

    with pytest.raises(PermanentError, match="3,001 rows"):
        history.commit(commit_to(child, created=(new,)))

    fitting = replace(new, entries=new.entries[:-1], row=replace(new.row, head=new.row.head - 1))
    history.commit(commit_to(child, created=(fitting,)))
    assert len(history.load(new.row.thread_id, NOTHING_ELSE).entries) == child.row.head + 2_997


def test_a_summary_that_no_column_takes_is_refused(history: DsqlHistory, wire: WireCounter, line: list[Thread]) -> None:
    wire.reset()
    with pytest.raises(PermanentError, match="too large"):
        history.commit(commit_to(line[1], summary=summary_of("s", 1, "a" * 2**20 + "a")))
    assert wire.exchanges == 0


def test_a_schema_of_before_families_reads_as_open_roots(dsn: str, history: DsqlHistory) -> None:
    old = str(uuid.uuid4())
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO infinity.threads (thread_id, root_id, head, version, commit_id, metadata_sent_ms, tokens_day,"
            " tokens_used) VALUES (%s, %s, 0, 1, 'c', 0, '', 0)",
            (old, old),
        )
    thread = history.load(old, NOTHING_ELSE)
    assert (thread.is_open, thread.row.birth.kind, thread.row.has_family) == (True, "root", False)

    first = commit_to(thread, said(1))
    history.commit(first)
    history.commit(beginning(after(thread, first), f"child of {old}"))
    assert [each.thread_id for each in history.load(old, NOTHING_ELSE).family.children] == [f"child of {old}"]
