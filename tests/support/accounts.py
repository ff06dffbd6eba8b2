"""Two accounts in a database behind DSQL's rules: something to read, to write and to fight over."""

import psycopg

from runtime.adapters.aws.dsql_connection import Statement

READ = [Statement("SELECT balance FROM accounts ORDER BY id")]
RAISE_A = Statement("UPDATE accounts SET balance = balance + 1 WHERE id = %s", ("a",))


def with_accounts(dsn: str) -> str:
    """Put one unit on each of the accounts a and b of an empty database, and return its connection string."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE accounts (id text PRIMARY KEY, balance bigint)")
        connection.execute("INSERT INTO accounts VALUES ('a', 1), ('b', 1)")
    return dsn


def balances(dsn: str) -> list[int]:
    with psycopg.connect(dsn) as connection:
        return [row[0] for row in connection.execute("SELECT balance FROM accounts ORDER BY id")]
