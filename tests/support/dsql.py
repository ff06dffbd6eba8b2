"""History on PostgreSQL behind DSQL's rules, for tests that start from a connection string."""

from collections.abc import Callable

from psycopg.conninfo import conninfo_to_dict

from runtime.adapters.aws.dsql_connection import DsqlConnection
from runtime.adapters.aws.dsql_endpoint import Endpoint
from runtime.adapters.aws.dsql_history import DsqlHistory
from runtime.adapters.aws.migrations import migrate
from runtime.adapters.clock import SystemClock
from runtime.ports import Clock

SCHEMA = "infinity"


def endpoint_of(dsn: str, *, port: int | None = None) -> Endpoint:
    parts = conninfo_to_dict(dsn)
    return Endpoint(
        host=str(parts["host"]),
        user=str(parts["user"]),
        port=int(port or str(parts["port"])),
        tls="off",
        database=str(parts["dbname"]),
    )


def connection_to(
    dsn: str, *, port: int | None = None, clock: Clock | None = None, token: Callable[[], str] = lambda: "a token"
) -> DsqlConnection:
    """A connection that is not made yet; `port` leads it through a listener of the test."""
    return DsqlConnection(endpoint_of(dsn, port=port), token, clock or SystemClock())


def migrated(dsn: str) -> str:
    """Bring an empty database up to date and return its connection string."""
    connection = connection_to(dsn)
    migrate(connection, SCHEMA, SystemClock())
    connection.close()
    return dsn


def history_on(connection: DsqlConnection) -> DsqlHistory:
    return DsqlHistory(connection, SCHEMA)
