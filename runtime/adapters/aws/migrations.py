"""The schema of history, and how it comes to be: an append-only list that a deployment runs and no slice ever does.

Each statement is one DDL in a transaction of its own, as DSQL wants it, and is harmless when it runs again: a
deployment may die between a statement and the record of it. A statement that was released is never changed.
"""

import logging
import re
from collections.abc import Sequence
from typing import Protocol

from psycopg import sql

from runtime.adapters.aws.dsql_connection import Statement
from runtime.adapters.aws.dsql_endpoint import Row
from runtime.errors import Unavailable
from runtime.ports import Clock

logger = logging.getLogger(__name__)

MIGRATIONS = (
    """
    CREATE TABLE IF NOT EXISTS {schema}.threads (
        thread_id text PRIMARY KEY,
        root_id text NOT NULL,
        head bigint NOT NULL,
        version bigint NOT NULL,
        commit_id text NOT NULL,
        user_id text,
        metadata text,
        metadata_sent_ms bigint NOT NULL,
        tokens_day text NOT NULL,
        tokens_used bigint NOT NULL,
        gave_up text
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS {schema}.entries (
        thread_id text,
        position bigint,
        turn bigint NOT NULL,
        kind text NOT NULL,
        body text NOT NULL,
        created_ms bigint NOT NULL,
        withheld text,
        PRIMARY KEY (thread_id, position)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS {schema}.inbox (
        thread_id text,
        type text,
        message_id text,
        version bigint NOT NULL,
        PRIMARY KEY (thread_id, type, message_id)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS {schema}.calls (
        thread_id text,
        call_id text,
        state text NOT NULL,
        name text NOT NULL,
        arguments text NOT NULL,
        toolset text,
        endpoint text,
        on_interrupt text NOT NULL,
        position bigint NOT NULL,
        committed_ms bigint NOT NULL,
        provider_call_id text,
        due_ms bigint,
        PRIMARY KEY (thread_id, call_id)
    )
    """,
    "CREATE INDEX ASYNC IF NOT EXISTS calls_by_state ON {schema}.calls (thread_id, state)",
    # Threads with families. NULL means what a row of before them was: an open root without children or summary.
    "ALTER TABLE {schema}.threads ADD COLUMN IF NOT EXISTS kind text",
    "ALTER TABLE {schema}.threads ADD COLUMN IF NOT EXISTS parent_id text",
    "ALTER TABLE {schema}.threads ADD COLUMN IF NOT EXISTS birth text",
    "ALTER TABLE {schema}.threads ADD COLUMN IF NOT EXISTS is_open boolean",
    "ALTER TABLE {schema}.threads ADD COLUMN IF NOT EXISTS closed_by text",
    "ALTER TABLE {schema}.threads ADD COLUMN IF NOT EXISTS has_family boolean",
    "ALTER TABLE {schema}.threads ADD COLUMN IF NOT EXISTS summary_id text",
    "ALTER TABLE {schema}.threads ADD COLUMN IF NOT EXISTS summary_up_to bigint",
    "ALTER TABLE {schema}.threads ADD COLUMN IF NOT EXISTS compaction text",
    "ALTER TABLE {schema}.calls ADD COLUMN IF NOT EXISTS turn_start bigint",
    "ALTER TABLE {schema}.calls ADD COLUMN IF NOT EXISTS user_id text",
    """
    CREATE TABLE IF NOT EXISTS {schema}.summaries (
        summary_id text PRIMARY KEY,
        thread_id text NOT NULL,
        up_to bigint NOT NULL,
        text text NOT NULL,
        state text
    )
    """,
    # Several rows for each tree, or all its threads would wait for one.
    """
    CREATE TABLE IF NOT EXISTS {schema}.trees (
        root_id text,
        bucket bigint,
        day text NOT NULL,
        tokens bigint NOT NULL,
        open_threads bigint NOT NULL,
        PRIMARY KEY (root_id, bucket)
    )
    """,
    "CREATE INDEX ASYNC IF NOT EXISTS threads_by_parent ON {schema}.threads (parent_id, is_open)",
    "CREATE INDEX ASYNC IF NOT EXISTS threads_by_closing ON {schema}.threads (closed_by)",
)
SCHEMA_VERSION = len(MIGRATIONS)

# The record of what ran. It stands outside the list, which cannot record its own beginning.
_FOUNDATION = (
    "CREATE SCHEMA IF NOT EXISTS {schema}",
    """
    CREATE TABLE IF NOT EXISTS {schema}.schema_version (
        version bigint PRIMARY KEY,
        migrated_ms bigint NOT NULL
    )
    """,
)
_NEWEST = "SELECT coalesce(max(version), 0) FROM {schema}.schema_version"
_RECORD = "INSERT INTO {schema}.schema_version (version, migrated_ms) VALUES (%s, %s) ON CONFLICT (version) DO NOTHING"
_WAIT_FOR_JOB = "CALL sys.wait_for_job(%s)"
_UNFINISHED_INDEXES = """
    SELECT index_class.relname
    FROM pg_index
    JOIN pg_class AS index_class ON index_class.oid = pg_index.indexrelid
    JOIN pg_namespace ON pg_namespace.oid = index_class.relnamespace
    WHERE pg_namespace.nspname = %s AND NOT pg_index.indisvalid
"""

# History is never deleted, and what was consumed is never changed.
_RIGHTS = (
    "GRANT USAGE ON SCHEMA {schema} TO {role}",
    "GRANT SELECT ON {schema}.schema_version TO {role}",
    "GRANT SELECT, INSERT, UPDATE ON {schema}.threads, {schema}.entries, {schema}.calls TO {role}",
    "GRANT SELECT, INSERT, UPDATE ON {schema}.summaries, {schema}.trees TO {role}",
    "GRANT SELECT, INSERT ON {schema}.inbox TO {role}",
)
_FIND_ROLE = "SELECT 1 FROM pg_roles WHERE rolname = %s"
_CREATE_ROLE = "CREATE ROLE {role} WITH LOGIN"
_FIND_MAPPING = "SELECT 1 FROM sys.iam_pg_role_mappings WHERE pg_role_name = %s AND arn = %s"
_MAP_ROLE = "AWS IAM GRANT {role} TO {arn}"
_IAM_ROLE_ARN = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]{1,512}", re.ASCII)


class Statementwise(Protocol):
    """The part of a `DsqlConnection` that DDL needs."""

    def run_alone(self, statement: Statement) -> list[Row]: ...


def migrate(connection: Statementwise, schema: str, clock: Clock) -> int:
    """Bring the schema to `SCHEMA_VERSION` and return the version found before. Never goes back, and may be repeated.

    Raises:
        RetryableError: the database cannot be had or refuses, or an index could not be built.
        PermanentError: the data that is there contradicts a statement.
    """
    for statement in _FOUNDATION:
        connection.run_alone(_with_names(statement, schema))
    found = int(connection.run_alone(_with_names(_NEWEST, schema))[0][0])
    for version, statement in enumerate(MIGRATIONS[found:], start=found + 1):
        _run(connection, _with_names(statement, schema))
        connection.run_alone(_with_names(_RECORD, schema, (version, clock.now_ms())))
        logger.info("migrated the schema", extra={"schema_version": version})
    _require_finished_indexes(connection, schema)
    return found


def grant_slice(connection: Statementwise, schema: str, role: str, iam_role_arn: str | None) -> None:
    """Let the slice's database role do what a slice does and no more, and its IAM role sign in as it. May be repeated.

    `iam_role_arn` is None where the database knows no IAM.

    Raises:
        ValueError: this is no ARN of an IAM role.
        RetryableError: the database cannot be had, or refuses.
    """
    if iam_role_arn is not None and not _IAM_ROLE_ARN.fullmatch(iam_role_arn):
        raise ValueError("the slice's role is not given as the ARN of an IAM role")
    if not connection.run_alone(Statement(_FIND_ROLE, (role,))):
        connection.run_alone(_with_names(_CREATE_ROLE, schema, role=role))
    for statement in _RIGHTS:
        connection.run_alone(_with_names(statement, schema, role=role))
    if iam_role_arn is not None and not connection.run_alone(Statement(_FIND_MAPPING, (role, iam_role_arn))):
        connection.run_alone(_with_names(_MAP_ROLE, schema, role=role, arn=iam_role_arn))


def all_statements(schema: str, role: str, iam_role_arn: str) -> tuple[str, ...]:
    """Return everything above as it is sent, for whoever checks it against DSQL's dialect."""
    texts = (*_FOUNDATION, *MIGRATIONS, _NEWEST, _RECORD, _CREATE_ROLE, *_RIGHTS, _MAP_ROLE, _FIND_ROLE, _FIND_MAPPING)
    named = tuple(_with_names(text, schema, role=role, arn=iam_role_arn).sql for text in texts)
    return (*named, _WAIT_FOR_JOB, _UNFINISHED_INDEXES)


def _with_names(text: str, schema: str, values: Sequence[object] = (), *, role: str = "", arn: str = "") -> Statement:
    """Names cannot be parameters of a statement, and DDL takes none at all: they are quoted into the text."""
    named = sql.SQL(text).format(schema=sql.Identifier(schema), role=sql.Identifier(role), arn=sql.Literal(arn))
    return Statement(named.as_string(None), values)


def _run(connection: Statementwise, statement: Statement) -> None:
    """Run a DDL statement; what it starts in the background is waited for."""
    job_ids = [row[0] for row in connection.run_alone(statement) if row[0]]
    if job_ids and not connection.run_alone(Statement(_WAIT_FOR_JOB, job_ids))[0][0]:
        raise Unavailable("an index could not be built: see sys.jobs, drop the index, and deploy again")


def _require_finished_indexes(connection: Statementwise, schema: str) -> None:
    """An index that exists is passed over by IF NOT EXISTS, also while it is being built or when that failed."""
    unfinished = [row[0] for row in connection.run_alone(Statement(_UNFINISHED_INDEXES, (schema,)))]
    if unfinished:
        raise Unavailable(f"not built yet, or invalid: {', '.join(unfinished)}; see sys.jobs, then deploy again")
