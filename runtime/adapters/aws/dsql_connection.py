"""One kept connection to Aurora DSQL: reconnect, conflict retry, and the one place where psycopg's errors end.

Not thread-safe: every worker thread has its own. Apart from what is sent over it, because all of DSQL's own manners are
here: connections live 60 minutes, conflicts surface at any statement or at COMMIT, and an answer may get lost.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import psycopg
from psycopg.errors import SerializationFailure
from psycopg.pq import TransactionStatus

from runtime.adapters.aws.dsql_endpoint import Endpoint, Row, connect
from runtime.errors import Misconfigured, OutcomeUnknown, PermanentError, RuntimeProblem, Unavailable
from runtime.ports import Clock

logger = logging.getLogger(__name__)

# DSQL closes a connection after 60 minutes.
MAX_LIFE_MS = 55 * 60 * 1000
# AWS's advice for conflicts: 5 tries, 50 ms base, exponential with jitter, at most 5 s.
TRIES = 5
FIRST_WAIT_S = 0.05
LONGEST_WAIT_S = 5.0

READ = "BEGIN READ ONLY"
WRITE = "BEGIN ISOLATION LEVEL REPEATABLE READ"

# What a SQLSTATE class means for whoever asked; every other class reads as Unavailable.
_MEANINGS: Mapping[str, type[RuntimeProblem]] = {
    "0A": Misconfigured,  # not supported by this database
    "28": Misconfigured,  # not let in
    "3D": Misconfigured,  # no such database
    "3F": Misconfigured,  # no such schema
    "42": Misconfigured,  # no such table or column, or no right to it
    "22": PermanentError,  # a value that no column takes
    "23": PermanentError,  # a row that is there already
    "54": PermanentError,  # over a limit of the database
}
# The server went away, or says that it cannot know what became of a COMMIT ("XX000 server unavailable").
_LOST_STATES = ("08", "57", "XX")

Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class Statement:
    sql: str
    values: Sequence[object] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """`rows` of a query, none of anything else; `count` of rows returned or written."""

    rows: list[Row]
    count: int


class _LostError(Exception):
    """The connection, or the answer, was lost. `in_doubt`: the transaction may have been committed all the same."""

    def __init__(self, in_doubt: bool) -> None:
        super().__init__()
        self.in_doubt = in_doubt


class DsqlConnection:
    """Whole transactions, each one round trip, over a connection that is made at the first of them and kept."""

    def __init__(self, endpoint: Endpoint, token: Callable[[], str], clock: Clock) -> None:
        self._endpoint = endpoint
        self._token = token
        self._clock = clock
        self._connection: psycopg.Connection[Row] | None = None
        self._made_ms = 0

    def read(self, statements: Sequence[Statement]) -> list[Result]:
        """Run the queries on one snapshot and return their results in order.

        Raises:
            RetryableError: the database cannot be had, or refuses us.
        """
        return self._transact(READ, statements)

    def write(self, statements: Sequence[Statement]) -> list[Result]:
        """Run the statements in one transaction: all of it or nothing, also when a conflict makes it run again.

        Raises:
            RetryableError: as `read`, or the conflicts did not end; nothing was written.
            PermanentError: the database will never take these values; nothing was written.
            OutcomeUnknown: the reply to COMMIT was lost.
        """
        return self._transact(WRITE, statements)

    def run_alone(self, statement: Statement) -> list[Row]:
        """Run one statement as its own transaction, as DSQL wants it for DDL. It may run twice: make it repeatable.

        Raises:
            RetryableError: as `read`.
            PermanentError: as `write`.
        """
        return self._persistently(lambda: self._run_once(statement), repeatable=True).rows

    def close(self) -> None:
        """Give the connection up; the next transaction makes a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _transact(self, begin: str, statements: Sequence[Statement]) -> list[Result]:
        return self._persistently(lambda: self._transact_once(begin, statements), repeatable=begin == READ)

    def _transact_once(self, begin: str, statements: Sequence[Statement]) -> list[Result]:
        connection = self._ready()
        committing = False
        try:
            with connection.pipeline():
                connection.execute(begin, prepare=False)
                cursors = [connection.execute(each.sql, each.values, prepare=True, binary=True) for each in statements]
                # Every `execute` reads what has come in. So a connection that the server closed while it was idle is
                # noticed before this line, while nothing can have happened yet and a repeat is safe.
                committing = True
                connection.execute("COMMIT", prepare=False)
            return [_result(cursor) for cursor in cursors]
        except SerializationFailure:
            self._roll_back(connection)
            raise
        except (psycopg.Error, UnicodeError) as error:
            raise self._given_up(error, in_doubt=committing) from error

    def _run_once(self, statement: Statement) -> Result:
        connection = self._ready()
        try:
            return _result(connection.execute(statement.sql, statement.values or None, prepare=False))
        except SerializationFailure:
            raise
        except (psycopg.Error, UnicodeError) as error:
            raise self._given_up(error, in_doubt=True) from error

    def _persistently(self, attempt: Callable[[], Outcome], *, repeatable: bool) -> Outcome:
        """Try again after conflicts, and once more after a loss that either left nothing behind or may be repeated."""
        problem: Exception | None = None
        lost_before = False
        for number in range(TRIES):
            try:
                return attempt()
            except SerializationFailure as conflict:
                problem = conflict
                if number < TRIES - 1:
                    self._wait_after(number)
            except _LostError as lost:
                problem = lost
                if lost.in_doubt and not repeatable:
                    raise OutcomeUnknown("the reply to a COMMIT was lost") from lost
                if lost_before:
                    break
                lost_before = True
        raise Unavailable("the database kept refusing: conflicts, or lost connections") from problem

    def _wait_after(self, number: int) -> None:
        wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**number) * (0.5 + self._clock.chance() / 2)
        logger.info("transaction conflicted", extra={"try": number + 1, "wait_s": wait_s})
        self._clock.sleep(wait_s)

    def _ready(self) -> psycopg.Connection[Row]:
        """Return a connection that can be used now: the kept one, or a new one with a new token."""
        if self._connection is not None and not self._is_fit(self._connection):
            self.close()
        if self._connection is None:
            self._connection = connect(self._endpoint, self._token)
            self._made_ms = self._clock.now_ms()
        return self._connection

    def _is_fit(self, connection: psycopg.Connection[Row]) -> bool:
        """Whether the kept connection is young, and not left in the middle of something that was interrupted."""
        is_young = self._clock.now_ms() - self._made_ms < MAX_LIFE_MS
        return is_young and connection.pgconn.transaction_status == TransactionStatus.IDLE

    def _given_up(self, error: psycopg.Error | UnicodeError, *, in_doubt: bool) -> Exception:
        """Drop the connection, whatever state it is in, and say what the error means for the transaction."""
        lost = self._connection is None or self._connection.closed or _sqlstate(error).startswith(_LOST_STATES)
        self.close()
        if lost:
            logger.warning("lost the database connection", extra={"sqlstate": _sqlstate(error), "in_doubt": in_doubt})
            return _LostError(in_doubt)
        return translated(error)

    def _roll_back(self, connection: psycopg.Connection[Row]) -> None:
        try:
            connection.rollback()
        except psycopg.Error:
            self.close()  # what was rolled back was lost with it, which is as good


def _result(cursor: psycopg.Cursor[Row]) -> Result:
    return Result(cursor.fetchall() if cursor.description else [], cursor.rowcount)


def translated(error: psycopg.Error | UnicodeError) -> RuntimeProblem:
    """Return what a refusal means to whoever sent the transaction. It shows the SQLSTATE alone: texts hold values."""
    if isinstance(error, psycopg.DataError | UnicodeError):
        return PermanentError("the database does not take a value of this transaction")
    meaning = _MEANINGS.get(_sqlstate(error)[:2], Unavailable)
    return meaning(f"the database refused a statement with SQLSTATE {_sqlstate(error) or 'unknown'}")


def _sqlstate(error: psycopg.Error | UnicodeError) -> str:
    """Return the SQLSTATE, or nothing where the error is the client's own."""
    return error.sqlstate or "" if isinstance(error, psycopg.Error) else ""
