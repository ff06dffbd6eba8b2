"""What only the history in Aurora DSQL has: round trips, limits, conflicts, connections that die, and a schema."""

import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import psycopg
import pytest
from psycopg import sql

from runtime.adapters.aws.dsql_history import DsqlHistory
from runtime.adapters.aws.dsql_limits import MAX_TRANSACTION_BYTES, MAX_VALUE_BYTES
from runtime.adapters.memory.clock import ManualClock
from runtime.errors import FenceLost, Misconfigured, PermanentError
from runtime.model.after import after
from runtime.model.entries import Entry, UserText
from runtime.model.messages import MessageKey
from runtime.model.threads import Commit, Thread, Wanted
from scripts.offline_stack.throwaway import DsnFactory
from tests.support.dsql import SCHEMA, connection_to, endpoint_of, history_on, migrated
from tests.support.history_values import KEY, NOTHING_ELSE, call, commit_to, said
from tests.support.wire_counter import WireCounter, counting

WANTED = Wanted((KEY,), ("c",), 0)


@pytest.fixture(scope="module")
def dsn(fresh_dsn: DsnFactory) -> str:
    return migrated(fresh_dsn())


@pytest.fixture
def wire(dsn: str) -> Iterator[WireCounter]:
    endpoint = endpoint_of(dsn)
    with counting(endpoint.host, endpoint.port) as counter:
        yield counter


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def history(dsn: str, wire: WireCounter, clock: ManualClock) -> Iterator[DsqlHistory]:
    connection = connection_to(dsn, port=wire.port, clock=clock)
    yield history_on(connection)
    connection.close()


@pytest.fixture
def thread(history: DsqlHistory) -> Thread:
    """A thread nobody has written to, loaded over a connection that is warm from now on."""
    return history.load(str(uuid.uuid4()), NOTHING_ELSE)


def everything(thread: Thread) -> Commit:
    """A commit that uses every statement there is, on a thread with one entry."""
    return commit_to(
        thread,
        *(said(position) for position in range(2, 6)),
        calls=(call("c", "answered"), call("d")),
        consumed=(KEY, MessageKey("wake", "wake:1")),
        withheld=(1,),
        withheld_code="model_refused",
    )


def test_a_warm_load_is_one_exchange_and_a_commit_another_without_ddl_or_a_new_connection(
    history: DsqlHistory, wire: WireCounter, thread: Thread
) -> None:
    first = commit_to(thread, said(1), calls=(call("c"),))
    history.commit(first)
    wire.reset()

    loaded = history.load(thread.row.thread_id, WANTED)
    assert (wire.exchanges, len(wire.statements)) == (1, 4)
    history.commit(everything(loaded))

    assert (wire.exchanges, len(wire.statements)) == (2, 4 + 6)
    assert wire.connections == 0
    assert {statement.split()[0] for statement in wire.statements} == {"SELECT", "INSERT", "UPDATE"}


def test_a_turn_of_text_costs_three_statements_to_commit(
    history: DsqlHistory, wire: WireCounter, thread: Thread
) -> None:
    wire.reset()
    history.commit(commit_to(thread, said(1), said(2), consumed=(KEY,)))
    assert (wire.exchanges, len(wire.statements)) == (1, 3)


def test_a_lost_fence_costs_one_exchange_and_writes_nothing_of_any_kind(
    history: DsqlHistory, wire: WireCounter, dsn: str, thread: Thread
) -> None:
    first = commit_to(thread, said(1), calls=(call("c"),))
    history.commit(first)
    history.commit(commit_to(after(thread, first)))
    before = _rows_of(dsn, thread.row.thread_id)
    wire.reset()

    with pytest.raises(FenceLost):
        history.commit(everything(after(thread, first)))

    assert wire.exchanges == 1
    assert _rows_of(dsn, thread.row.thread_id) == before


def test_statements_are_prepared_once_and_used_again(history: DsqlHistory, wire: WireCounter, thread: Thread) -> None:
    for position in range(1, 5):
        commit = commit_to(thread, said(position), calls=(call("c"),), consumed=(MessageKey("text", f"{position}"),))
        history.commit(commit)
        thread = after(thread, commit)
        history.load(thread.row.thread_id, WANTED)
    wire.reset()

    history.load(thread.row.thread_id, WANTED)
    history.commit(commit_to(thread, said(5), calls=(call("c"),), consumed=(MessageKey("text", "5"),)))

    assert wire.parsed == ["BEGIN READ ONLY", "COMMIT", "BEGIN ISOLATION LEVEL REPEATABLE READ", "COMMIT"]


def test_a_conflict_at_commit_three_times_in_a_row_commits_once(
    history: DsqlHistory, wire: WireCounter, thread: Thread
) -> None:
    wire.fates += ["conflict"] * 3
    commit = commit_to(thread, said(1), consumed=(KEY,))

    history.commit(commit)

    assert history.load(thread.row.thread_id, WANTED) == after(thread, commit)


def test_connections_that_die_between_and_inside_slices_cost_one_reconnect_each(
    history: DsqlHistory, wire: WireCounter, clock: ManualClock, thread: Thread
) -> None:
    wire.reset()
    wire.close_connections()
    loaded = history.load(thread.row.thread_id, NOTHING_ELSE)
    assert wire.connections == 1

    wire.close_connections()  # while the model was thinking
    commit = commit_to(loaded, said(1))
    history.commit(commit)
    assert wire.connections == 2

    clock.advance(61 * 60)
    assert history.load(thread.row.thread_id, NOTHING_ELSE) == after(loaded, commit)
    assert wire.connections == 3


@pytest.mark.parametrize("character", ["a", "é"], ids=["ASCII", "two bytes"])
def test_a_value_of_one_mebibyte_is_stored_and_one_more_byte_is_refused_before_anything_is_sent(
    history: DsqlHistory, wire: WireCounter, thread: Thread, character: str
) -> None:
    frame = len('{"text":"","cause":"user:1"}')
    odd = "a" * ((MAX_VALUE_BYTES - frame) % len(character.encode()))
    largest = odd + character * ((MAX_VALUE_BYTES - frame) // len(character.encode()))
    wire.reset()

    with pytest.raises(PermanentError, match=r"1,048,577 bytes .* at most 1,048,576"):
        history.commit(commit_to(thread, said(1, largest + "a")))
    assert wire.exchanges == 0

    commit = commit_to(thread, said(1, largest))
    history.commit(commit)
    assert history.load(thread.row.thread_id, NOTHING_ELSE) == after(thread, commit)


def test_three_thousand_rows_are_stored_together_and_one_more_is_refused(
    history: DsqlHistory, wire: WireCounter, thread: Thread
) -> None:
    entries = tuple(said(position, "") for position in range(1, 3_000))
    wire.reset()

    with pytest.raises(PermanentError, match="3,001 rows"):
        history.commit(commit_to(thread, *entries, consumed=(KEY,)))
    assert wire.exchanges == 0

    history.commit(commit_to(thread, *entries))
    assert len(history.load(thread.row.thread_id, NOTHING_ELSE).entries) == 2_999


def test_more_than_ten_mebibytes_are_never_split_but_refused(
    history: DsqlHistory, wire: WireCounter, thread: Thread
) -> None:
    entries = tuple(said(position, "a" * (MAX_VALUE_BYTES - 100)) for position in range(1, 11))
    wire.reset()

    with pytest.raises(PermanentError, match=f"{MAX_TRANSACTION_BYTES:,}"):
        history.commit(commit_to(thread, *entries))
    assert wire.exchanges == 0

    history.commit(commit_to(thread, *entries[:9]))
    assert len(history.load(thread.row.thread_id, NOTHING_ELSE).entries) == 9


def test_an_id_that_fits_no_key_is_refused(history: DsqlHistory, wire: WireCounter, thread: Thread) -> None:
    wire.reset()
    with pytest.raises(PermanentError, match="id of a message"):
        history.commit(commit_to(thread, consumed=(MessageKey("event", "x" * 1_000),)))
    assert wire.exchanges == 0


def test_twenty_thousand_messages_leave_a_commit_as_small_as_the_first(
    history: DsqlHistory, wire: WireCounter, thread: Thread
) -> None:
    for batch in range(10):
        first = 1 + batch * 2_000
        entries = tuple(
            Entry(position, position, UserText("hello", f"user:{position}"), 1)
            for position in range(first, first + 2_000)
        )
        commit = commit_to(thread, *entries)
        history.commit(commit)
        thread = after(thread, commit)
    wire.reset()

    history.commit(commit_to(thread, said(20_001), consumed=(KEY,)))

    assert (wire.exchanges, len(wire.statements)) == (1, 3)
    assert wire.bytes_sent < 2_000


def test_code_that_is_newer_than_the_schema_does_not_go_on(fresh_dsn: DsnFactory) -> None:
    dsn = migrated(fresh_dsn())
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("DELETE FROM {}.schema_version WHERE version > 2").format(sql.Identifier(SCHEMA)))
    with closing(connection_to(dsn)) as old, pytest.raises(Misconfigured, match="version 2"):
        history_on(old).load("thread", NOTHING_ELSE)


def test_code_without_any_schema_says_so_as_a_matter_of_configuration(fresh_dsn: DsnFactory) -> None:
    with closing(connection_to(fresh_dsn())) as empty, pytest.raises(Misconfigured):
        history_on(empty).load("thread", NOTHING_ELSE)


def test_the_schema_is_looked_at_with_the_first_load_only(dsn: str, wire: WireCounter) -> None:
    connection = connection_to(dsn, port=wire.port)
    history = history_on(connection)
    for _ in range(3):
        history.load("thread", NOTHING_ELSE)
    connection.close()

    assert wire.exchanges == 3
    assert sum("schema_version" in statement for statement in wire.statements) == 1


def test_a_row_of_a_newer_version_of_the_code_is_reported_and_not_shown(
    history: DsqlHistory, dsn: str, thread: Thread
) -> None:
    history.commit(commit_to(thread, said(1, "a secret")))
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            sql.SQL("UPDATE {}.entries SET kind = 'vision' WHERE thread_id = %s").format(sql.Identifier(SCHEMA)),
            (thread.row.thread_id,),
        )

    with pytest.raises(Misconfigured, match="kind vision") as caught:
        history.load(thread.row.thread_id, NOTHING_ELSE)

    assert "secret" not in str(caught.value)


def test_a_first_commit_under_a_version_that_is_not_the_first_is_refused(history: DsqlHistory, thread: Thread) -> None:
    commit = commit_to(thread, said(1))
    with pytest.raises(FenceLost):
        history.commit(replace(commit, row=replace(commit.row, version=2)))


def _rows_of(dsn: str, thread_id: str) -> list[list[tuple[object, ...]]]:
    tables = ("threads", "entries", "calls", "inbox")
    with psycopg.connect(dsn) as connection:
        return [
            connection.execute(
                sql.SQL("SELECT * FROM {}.{} WHERE thread_id = %s ORDER BY 1, 2").format(
                    sql.Identifier(SCHEMA), sql.Identifier(table)
                ),
                (thread_id,),
            ).fetchall()
            for table in tables
        ]
