import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import LiteralString, TypeVar

import psycopg
import pytest
from psycopg import Connection
from psycopg.errors import (
    DivisionByZero,
    FeatureNotSupported,
    InFailedSqlTransaction,
    SerializationFailure,
    UndefinedTable,
)
from psycopg.pq import DiagnosticField, ExecStatus
from psycopg.pq.abc import PGconn
from psycopg.rows import TupleRow

from scripts.offline_stack.throwaway import DsnFactory

PATIENCE_S = 10

Outcome = TypeVar("Outcome")


@pytest.fixture
def dsn(fresh_dsn: DsnFactory) -> str:
    return fresh_dsn()


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection[TupleRow]]:
    with psycopg.connect(dsn, autocommit=True) as opened:
        opened.execute("CREATE TABLE accounts (id text PRIMARY KEY, balance bigint)")
        opened.execute("INSERT INTO accounts VALUES ('a', 1), ('b', 1)")
        yield opened


def test_a_write_to_a_row_that_another_transaction_holds_fails_as_a_conflict_instead_of_waiting(
    dsn: str, connection: Connection[TupleRow]
) -> None:
    with psycopg.connect(dsn) as holder, psycopg.connect(dsn) as late:
        holder.execute("UPDATE accounts SET balance = 2 WHERE id = 'a'")

        with pytest.raises(SerializationFailure, match="OC000"):
            late.execute("UPDATE accounts SET balance = 3 WHERE id = 'a'")

        late.rollback()
        holder.commit()
    assert connection.execute("SELECT balance FROM accounts WHERE id = 'a'").fetchone() == (2,)


def test_a_conflict_inside_a_pipeline_leaves_the_connection_usable(dsn: str, connection: Connection[TupleRow]) -> None:
    with psycopg.connect(dsn) as holder:
        holder.execute("UPDATE accounts SET balance = 2 WHERE id = 'a'")

        with pytest.raises(SerializationFailure):
            _pipelined(
                connection,
                "BEGIN",
                "INSERT INTO accounts VALUES ('c', 1)",
                "UPDATE accounts SET balance = 3 WHERE id = 'a'",
                "COMMIT",
            )

        connection.execute("ROLLBACK")
        assert connection.execute("SELECT count(*) FROM accounts").fetchone() == (2,)


def test_a_transaction_that_read_before_another_committed_fails_when_it_writes_the_same_row(
    dsn: str, connection: Connection[TupleRow]
) -> None:
    with psycopg.connect(dsn) as late:
        late.execute("SELECT balance FROM accounts WHERE id = 'a'")
        connection.execute("UPDATE accounts SET balance = 5 WHERE id = 'a'")

        with pytest.raises(SerializationFailure):
            late.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 'a'")


def test_a_refusal_inside_a_pipeline_is_reported_and_leaves_the_connection_usable(
    connection: Connection[TupleRow],
) -> None:
    def refused() -> None:
        with pytest.raises(FeatureNotSupported, match="TRUNCATE"):
            _pipelined(connection, "SELECT 1", "TRUNCATE accounts", "DELETE FROM accounts")

    _within_patience(refused)
    assert connection.execute("SELECT count(*) FROM accounts").fetchone() == (2,)


def test_refusals_of_several_pipelines_sent_in_one_go_are_answered_in_their_places(
    connection: Connection[TupleRow],
) -> None:
    statements = [b"SELECT 1", b"TRUNCATE accounts", b"SELECT 1/0", b"VACUUM accounts", b"SELECT 2"]

    def answered() -> list[str]:
        wire = connection.pgconn
        wire.enter_pipeline_mode()
        for statement in statements:
            wire.send_query_params(statement, None)
            wire.pipeline_sync()
        return [_next_answer(wire) for _ in statements]

    assert _within_patience(answered) == ["1", "0A000", "22012", "0A000", "2"]


def test_a_refusal_behind_an_error_of_the_same_pipeline_is_never_reported_for_a_later_statement(
    connection: Connection[TupleRow],
) -> None:
    def refused() -> None:
        with pytest.raises(DivisionByZero):
            _pipelined(connection, "SELECT 1/0", "TRUNCATE accounts")

    _within_patience(refused)
    with pytest.raises(UndefinedTable):
        connection.execute("SELECT %s FROM nowhere", (1,))


def test_a_refusal_in_a_transaction_aborts_it(connection: Connection[TupleRow]) -> None:
    connection.execute("BEGIN")
    connection.execute("INSERT INTO accounts VALUES ('c', 1)")

    with pytest.raises(FeatureNotSupported):
        connection.execute("SAVEPOINT before", prepare=True)

    with pytest.raises(InFailedSqlTransaction):
        connection.execute("SELECT 1")
    assert connection.execute("COMMIT").statusmessage == "ROLLBACK"
    assert connection.execute("SELECT count(*) FROM accounts").fetchone() == (2,)


def test_every_call_of_the_factory_gives_an_empty_database_of_its_own(fresh_dsn: DsnFactory) -> None:
    with psycopg.connect(fresh_dsn(), autocommit=True) as one, psycopg.connect(fresh_dsn(), autocommit=True) as other:
        one.execute("CREATE TABLE only_here (id text PRIMARY KEY)")
        assert other.execute("SELECT to_regclass('only_here')").fetchone() == (None,)


def _pipelined(connection: Connection[TupleRow], *statements: LiteralString) -> None:
    with connection.pipeline():
        for statement in statements:
            connection.execute(statement)


def _next_answer(wire: PGconn) -> str:
    """Read one statement's value or SQLSTATE, and the sync point behind it."""
    result = wire.get_result()
    assert result is not None
    answer = result.get_value(0, 0) or result.error_field(DiagnosticField.SQLSTATE)
    assert wire.get_result() is None
    sync_point = wire.get_result()
    assert sync_point is not None
    assert sync_point.status == ExecStatus.PIPELINE_SYNC
    return (answer or b"").decode()


def _within_patience(action: Callable[[], Outcome]) -> Outcome:
    """Run what would wait for ever on a proxy that answers out of order."""
    outcome: Future[Outcome] = Future()

    def run() -> None:
        try:
            outcome.set_result(action())
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised where the outcome is asked for
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome.result(PATIENCE_S)
