"""The schema as a deployment makes it, and the slice's role in it, on PostgreSQL behind DSQL's rules."""

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, fields
from pathlib import Path

import psycopg
import pytest

from runtime.adapters.aws.dsql_connection import DsqlConnection, Statement
from runtime.adapters.aws.dsql_endpoint import Row
from runtime.adapters.aws.dsql_statements import Statements, for_schema
from runtime.adapters.aws.migrations import SCHEMA_VERSION, all_statements, grant_slice, migrate
from runtime.adapters.clock import SystemClock
from runtime.adapters.memory.clock import ManualClock
from runtime.errors import Unavailable
from scripts.offline_stack.throwaway import DsnFactory
from tests.support.dsql import connection_to, endpoint_of
from tests.support.wire_counter import WireCounter, counting

ARN = "arn:aws:iam::123456789012:role/Infinity-SliceRole"


class DiedError(Exception):
    """The deployment's process is gone."""


@dataclass
class DyingConnection:
    """A connection whose process dies between two statements that no process before it had come between."""

    inner: DsqlConnection
    survived: set[tuple[str, str]]
    before: str = ""

    def run_alone(self, statement: Statement) -> list[Row]:
        between, self.before = (self.before, statement.sql), statement.sql
        if between not in self.survived:
            self.survived.add(between)
            raise DiedError
        return self.inner.run_alone(statement)


@dataclass
class StutteringConnection:
    """A connection that loses every first answer, and so runs every statement twice."""

    inner: DsqlConnection

    def run_alone(self, statement: Statement) -> list[Row]:
        self.inner.run_alone(statement)
        return self.inner.run_alone(statement)


@dataclass
class IndexlessConnection:
    """A connection to a database that takes an index, and then does not get it built."""

    inner: DsqlConnection
    answered_by: str
    answer: tuple[object, ...]

    def run_alone(self, statement: Statement) -> list[Row]:
        return [self.answer] if self.answered_by in statement.sql else self.inner.run_alone(statement)


@dataclass
class RecordingConnection:
    """A database that knows IAM, which no PostgreSQL does: it has the role already, and the mapping or not."""

    known_mapping: bool
    statements: list[str] = field(default_factory=list)

    def run_alone(self, statement: Statement) -> list[Row]:
        self.statements.append(statement.sql)
        if "iam_pg_role_mappings" in statement.sql:
            assert list(statement.values) == ["infinity_slice", ARN]
            return [(1,)] if self.known_mapping else []
        return [(1,)] if "pg_roles" in statement.sql else []


@pytest.fixture
def dsn(fresh_dsn: DsnFactory) -> str:
    return fresh_dsn()


@pytest.fixture
def wire(dsn: str) -> Iterator[WireCounter]:
    endpoint = endpoint_of(dsn)
    with counting(endpoint.host, endpoint.port) as counter:
        yield counter


@pytest.fixture
def connection(dsn: str, wire: WireCounter) -> Iterator[DsqlConnection]:
    with closing(connection_to(dsn, port=wire.port)) as made:
        yield made


@pytest.fixture
def role() -> str:
    return f"slice_{uuid.uuid4().hex}"  # roles belong to the whole server, which other tests use as well


def test_an_empty_database_is_brought_to_the_newest_version_and_stays_there(connection: DsqlConnection) -> None:
    assert migrate(connection, "infinity", SystemClock()) == 0
    assert migrate(connection, "infinity", SystemClock()) == SCHEMA_VERSION


def test_every_ddl_statement_is_an_exchange_of_its_own_and_indexes_are_waited_for(
    connection: DsqlConnection, wire: WireCounter
) -> None:
    migrate(connection, "infinity", SystemClock())

    assert wire.exchanges == len(wire.statements)
    index = next(n for n, statement in enumerate(wire.statements) if "CREATE INDEX ASYNC" in statement)
    assert wire.statements[index + 1].startswith("CALL sys.wait_for_job")
    assert "INSERT INTO" in wire.statements[index + 2]


def test_deployments_that_die_at_every_statement_are_finished_by_those_after_them(fresh_dsn: DsnFactory) -> None:
    complete, dsn = fresh_dsn(), fresh_dsn()
    with closing(connection_to(complete)) as connection:
        migrate(connection, "infinity", ManualClock())

    with closing(connection_to(dsn)) as connection:
        survived: set[tuple[str, str]] = set()
        deaths = sum(_dies(DyingConnection(connection, survived)) for _ in range(4 * SCHEMA_VERSION))

    assert 2 * SCHEMA_VERSION < deaths < 4 * SCHEMA_VERSION
    assert _columns_and_keys(dsn) == _columns_and_keys(complete)


def test_a_statement_whose_answer_was_lost_may_run_twice(connection: DsqlConnection) -> None:
    assert migrate(StutteringConnection(connection), "infinity", SystemClock()) == 0
    assert migrate(connection, "infinity", SystemClock()) == SCHEMA_VERSION


@pytest.mark.parametrize(("answered_by", "answer"), [("wait_for_job", (False,)), ("indisvalid", ("calls_by_state",))])
def test_an_index_that_was_not_built_stops_the_deployment(
    connection: DsqlConnection, answered_by: str, answer: tuple[object, ...]
) -> None:
    with pytest.raises(Unavailable, match="deploy again"):
        migrate(IndexlessConnection(connection, answered_by, answer), "infinity", SystemClock())


def test_an_older_version_of_the_code_leaves_a_newer_schema_as_it_is(connection: DsqlConnection, dsn: str) -> None:
    migrate(connection, "infinity", SystemClock())
    with psycopg.connect(dsn, autocommit=True) as newer:
        newer.execute("INSERT INTO infinity.schema_version VALUES (%s, 0)", (SCHEMA_VERSION + 1,))

    assert migrate(connection, "infinity", SystemClock()) == SCHEMA_VERSION + 1


def test_the_slice_may_do_what_it_does_and_nothing_else(connection: DsqlConnection, dsn: str, role: str) -> None:
    migrate(connection, "infinity", SystemClock())
    grant_slice(connection, "infinity", role, None)
    grant_slice(connection, "infinity", role, None)

    with psycopg.connect(dsn, autocommit=True) as admin:
        granted = admin.execute(
            "SELECT table_name, string_agg(privilege_type, ' ' ORDER BY privilege_type)"
            " FROM information_schema.role_table_grants WHERE grantee = %s GROUP BY table_name",
            (role,),
        ).fetchall()
        may_log_in = admin.execute("SELECT rolcanlogin, rolsuper FROM pg_roles WHERE rolname = %s", (role,)).fetchone()

    reading_and_writing = "INSERT SELECT UPDATE"
    assert dict(granted) == {
        "threads": reading_and_writing,
        "entries": reading_and_writing,
        "calls": reading_and_writing,
        "summaries": reading_and_writing,
        "trees": reading_and_writing,
        "inbox": "INSERT SELECT",
        "schema_version": "SELECT",
    }
    assert may_log_in == (True, False)


def test_a_role_can_run_every_statement_of_history_and_no_ddl(dsn: str, role: str) -> None:
    with closing(connection_to(dsn)) as admin:
        migrate(admin, "infinity", SystemClock())
        grant_slice(admin, "infinity", role, None)

    with psycopg.connect(dsn, autocommit=True) as as_slice:
        as_slice.execute(f"SET ROLE {role}")
        for text in (getattr(for_schema("infinity"), each.name) for each in fields(Statements)):
            as_slice.execute("EXPLAIN " + text.replace("%s", "NULL").replace("%b", "NULL"))
        for forbidden in (
            "DROP TABLE infinity.threads",
            "DELETE FROM infinity.entries",
            "UPDATE infinity.inbox SET version = 0",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                as_slice.execute(forbidden)


def test_live_calls_wanted_calls_and_inbox_rows_are_found_by_key_in_a_large_thread(dsn: str) -> None:
    with closing(connection_to(dsn)) as connection:
        migrate(connection, "infinity", SystemClock())
    statements = for_schema("infinity")
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO infinity.calls SELECT 't', 'c' || n, 'answered', 'n', '{}', NULL, NULL, 'continue', n, 0"
            " FROM generate_series(1, 20000) AS n"
        )
        connection.execute(
            "INSERT INTO infinity.inbox SELECT 't', 'text', 'user:' || n, n FROM generate_series(1, 20000) AS n"
        )
        connection.execute("ANALYZE infinity.calls")
        connection.execute("ANALYZE infinity.inbox")
        live = ["detached", "pending", "subscribed"]
        plans = [
            *connection.execute("EXPLAIN ANALYZE " + statements.calls, ("t", live, "t", ["c7"], live)),
            *connection.execute("EXPLAIN ANALYZE " + statements.inbox, ("t", ["text"], ["user:7"])),
        ]

    plan = "\n".join(row[0] for row in plans)
    assert "Seq Scan" not in plan
    assert "Rows Removed by Filter" not in plan
    assert plan.count("calls_by_state") == 1


def test_the_roles_iam_counterpart_is_mapped_unless_it_is_already() -> None:
    mapped = RecordingConnection(known_mapping=True)
    grant_slice(mapped, "infinity", "infinity_slice", ARN)
    assert not any("AWS IAM GRANT" in statement for statement in mapped.statements)

    new = RecordingConnection(known_mapping=False)
    grant_slice(new, "infinity", "infinity_slice", ARN)
    assert new.statements[-1] == f"AWS IAM GRANT \"infinity_slice\" TO '{ARN}'"


@pytest.mark.parametrize("arn", ["", "arn:aws:iam::1:role/x", f"{ARN}'; DROP SCHEMA infinity", f"{ARN}\n"])
def test_what_is_no_arn_of_a_role_is_never_put_into_a_statement(arn: str) -> None:
    connection = RecordingConnection(known_mapping=False)
    with pytest.raises(ValueError, match="ARN"):
        grant_slice(connection, "infinity", "infinity_slice", arn)
    assert connection.statements == []


def test_every_statement_is_clean_under_dsql_lint(tmp_path: Path) -> None:
    history = tuple(getattr(for_schema("infinity"), each.name) for each in fields(Statements))
    texts = (*all_statements("infinity", "infinity_slice", ARN), *history)
    script = tmp_path / "statements.sql"
    script.write_text(";\n".join(text.replace("%s", "NULL").replace("%b", "NULL") for text in texts) + ";\n")

    lint = Path(sys.executable).with_name("dsql-lint")
    checked = subprocess.run([lint, "--format", "json", script], capture_output=True, text=True, check=False)

    report = json.loads(checked.stdout)
    assert report["files"][0]["error"] is None
    assert report["files"][0]["diagnostics"] == []
    assert checked.returncode == 0


def _dies(connection: DyingConnection) -> bool:
    try:
        migrate(connection, "infinity", ManualClock())
    except DiedError:
        return True
    return False


def _columns_and_keys(dsn: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn) as connection:
        return [
            *connection.execute(
                "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns"
                " WHERE table_schema = 'infinity' ORDER BY 1, 2"
            ),
            *connection.execute("SELECT indexdef FROM pg_indexes WHERE schemaname = 'infinity' ORDER BY 1"),
            *connection.execute("SELECT version FROM infinity.schema_version ORDER BY 1"),
        ]
