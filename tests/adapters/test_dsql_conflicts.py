"""Conflicts, at a statement as PostgreSQL reports them and at COMMIT as Aurora DSQL does."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import psycopg
import pytest

from runtime.adapters.aws.dsql_connection import TRIES, DsqlConnection, Statement
from runtime.adapters.memory.clock import ManualClock
from runtime.errors import Unavailable
from scripts.offline_stack.throwaway import DsnFactory
from tests.support.accounts import RAISE_A, balances, with_accounts
from tests.support.dsql import connection_to, endpoint_of
from tests.support.wire_counter import WireCounter, counting


@dataclass
class Holder:
    """Somebody who holds account a, so that everybody else's write of it conflicts."""

    connection: psycopg.Connection[psycopg.rows.TupleRow]

    def hold(self) -> None:
        self.connection.execute("UPDATE accounts SET balance = 100 WHERE id = 'a'")

    def let_go(self) -> None:
        self.connection.rollback()


class ClockOfAHolder(ManualClock):
    """Lets the account go at the given wait, which is how a test knows that there were as many conflicts."""

    def __init__(self, holder: Holder, let_go_at: int) -> None:
        super().__init__()
        self._holder = holder
        self._let_go_at = let_go_at
        self.waits_s: list[float] = []

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.waits_s.append(seconds)
        if len(self.waits_s) == self._let_go_at:
            self._holder.let_go()


@pytest.fixture
def dsn(fresh_dsn: DsnFactory) -> str:
    return with_accounts(fresh_dsn())


@pytest.fixture
def wire(dsn: str) -> Iterator[WireCounter]:
    endpoint = endpoint_of(dsn)
    with counting(endpoint.host, endpoint.port) as counter:
        yield counter


@pytest.fixture
def connection(dsn: str, wire: WireCounter) -> Iterator[DsqlConnection]:
    with closing(connection_to(dsn, port=wire.port, clock=ManualClock())) as made:
        yield made


@pytest.fixture
def holder(dsn: str) -> Iterator[Holder]:
    with psycopg.connect(dsn) as connection:
        yield Holder(connection)
        connection.rollback()


def test_a_write_that_conflicts_three_times_is_written_once_after_growing_waits(
    dsn: str, wire: WireCounter, holder: Holder
) -> None:
    clock = ClockOfAHolder(holder, let_go_at=3)
    connection = connection_to(dsn, port=wire.port, clock=clock)
    holder.hold()

    connection.write([Statement("INSERT INTO accounts VALUES ('c', 1)"), RAISE_A])
    connection.close()

    assert balances(dsn) == [2, 1, 1]
    assert wire.connections == 1
    assert clock.waits_s == sorted(clock.waits_s)
    assert 0.025 <= clock.waits_s[0] <= 0.05
    assert 0.1 <= clock.waits_s[2] <= 0.2


def test_a_write_that_conflicts_every_time_is_unavailable_and_writes_nothing(dsn: str, holder: Holder) -> None:
    clock = ClockOfAHolder(holder, let_go_at=TRIES)
    connection = connection_to(dsn, clock=clock)
    holder.hold()

    with pytest.raises(Unavailable):
        connection.write([Statement("INSERT INTO accounts VALUES ('c', 1)"), RAISE_A])
    holder.let_go()

    assert len(clock.waits_s) == TRIES - 1
    assert balances(dsn) == [1, 1]
    connection.write([RAISE_A])
    connection.close()
    assert balances(dsn) == [2, 1]


def test_a_conflict_that_shows_at_commit_repeats_the_whole_transaction_on_the_same_connection(
    connection: DsqlConnection, wire: WireCounter, dsn: str
) -> None:
    wire.fates += ["conflict"] * 3

    assert connection.write([RAISE_A, RAISE_A])[1].count == 1

    assert balances(dsn) == [3, 1]
    assert (wire.connections, wire.exchanges, len(wire.statements)) == (1, 4, 8)


def test_five_conflicts_at_commit_end_as_unavailable(connection: DsqlConnection, wire: WireCounter, dsn: str) -> None:
    wire.fates += ["conflict"] * TRIES

    with pytest.raises(Unavailable):
        connection.write([RAISE_A])

    assert balances(dsn) == [1, 1]
