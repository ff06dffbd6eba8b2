"""DSQL's manners, met over a real connection: losses, refusals, and what each costs at the wire."""

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest
from botocore.exceptions import NoCredentialsError
from psycopg import errors as psycopg_errors

from runtime.adapters.aws import dsql_connection
from runtime.adapters.aws.dsql_connection import DsqlConnection, Statement
from runtime.adapters.memory.clock import ManualClock
from runtime.errors import Misconfigured, OutcomeUnknown, PermanentError, RetryableError, RuntimeProblem, Unavailable
from scripts.offline_stack.throwaway import DsnFactory
from tests.support.accounts import RAISE_A, READ, balances, with_accounts
from tests.support.dsql import connection_to, endpoint_of
from tests.support.wire_counter import WireCounter, counting


@dataclass
class Tokens:
    """Tokens as a signer makes them: each a new one."""

    made: int = 0

    def __call__(self) -> str:
        self.made += 1
        return f"token {self.made}"


class CutShort(list[Statement]):
    """Statements during which somebody loses patience."""

    def __iter__(self) -> Iterator[Statement]:
        yield from super().__iter__()
        raise KeyboardInterrupt


@pytest.fixture
def dsn(fresh_dsn: DsnFactory) -> str:
    return with_accounts(fresh_dsn())


@pytest.fixture
def wire(dsn: str) -> Iterator[WireCounter]:
    endpoint = endpoint_of(dsn)
    with counting(endpoint.host, endpoint.port) as counter:
        yield counter


@pytest.fixture
def tokens() -> Tokens:
    return Tokens()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def connection(dsn: str, wire: WireCounter, tokens: Tokens, clock: ManualClock) -> Iterator[DsqlConnection]:
    made = connection_to(dsn, port=wire.port, clock=clock, token=tokens)
    yield made
    made.close()


def test_nothing_is_connected_before_the_first_transaction_and_one_connection_is_kept(
    connection: DsqlConnection, wire: WireCounter, tokens: Tokens
) -> None:
    assert wire.connections == 0
    for _ in range(3):
        assert [result.rows for result in connection.read(READ)] == [[(1,), (1,)]]
    connection.write([RAISE_A])
    assert (wire.connections, tokens.made) == (1, 1)


def test_a_transaction_is_one_exchange_however_many_statements_it_has(
    connection: DsqlConnection, wire: WireCounter
) -> None:
    connection.read(READ)
    wire.reset()

    connection.read(READ * 5)
    connection.write([RAISE_A] * 4)

    assert wire.exchanges == 2
    assert len(wire.statements) == 9


def test_a_statement_is_prepared_once_however_large_its_numbers_are(
    connection: DsqlConnection, wire: WireCounter
) -> None:
    statement = "SELECT * FROM accounts WHERE balance = %s AND balance = ANY(%b::bigint[])"
    for number in (1, 70_000, 5_000_000_000):
        connection.read([Statement(statement, (number, [number]))])
    assert sum("FROM accounts" in text for text in wire.parsed) == 1


def test_results_come_in_the_order_of_the_statements_with_their_counts(connection: DsqlConnection) -> None:
    raised, missed, read = connection.write(
        [RAISE_A, Statement("UPDATE accounts SET balance = 0 WHERE id = %s", ("nobody",)), *READ]
    )
    assert (raised.count, raised.rows, missed.count, read.rows) == (1, [], 0, [(2,), (1,)])


def test_a_reading_transaction_cannot_write(connection: DsqlConnection, dsn: str) -> None:
    with pytest.raises(RetryableError):
        connection.read([RAISE_A])
    assert balances(dsn) == [1, 1]


def test_a_connection_the_server_closed_between_transactions_is_replaced_once_with_a_new_token(
    connection: DsqlConnection, wire: WireCounter, tokens: Tokens, dsn: str
) -> None:
    connection.read(READ)
    wire.close_connections()

    connection.write([RAISE_A])
    connection.read(READ)

    assert balances(dsn) == [2, 1]
    assert (wire.connections, tokens.made) == (2, 2)


def test_a_connection_near_the_sixty_minutes_it_may_live_is_replaced_once_with_a_new_token(
    connection: DsqlConnection, wire: WireCounter, tokens: Tokens, clock: ManualClock
) -> None:
    connection.read(READ)
    clock.advance(61 * 60)

    connection.write([RAISE_A])
    connection.read(READ)

    assert (wire.connections, tokens.made) == (2, 2)


def test_a_connection_is_kept_when_the_clock_is_set_back(
    connection: DsqlConnection, wire: WireCounter, clock: ManualClock
) -> None:
    connection.read(READ)
    clock.advance(-90)
    connection.read(READ)
    assert wire.connections == 1


def test_a_connection_left_in_the_middle_of_something_is_replaced(
    connection: DsqlConnection, wire: WireCounter, dsn: str
) -> None:
    with pytest.raises(KeyboardInterrupt):
        connection.write(CutShort([RAISE_A]))

    connection.write([RAISE_A])

    assert balances(dsn) == [2, 1]
    assert wire.connections == 2


def test_a_read_that_lost_its_connection_is_repeated_on_a_new_one(
    connection: DsqlConnection, wire: WireCounter, tokens: Tokens
) -> None:
    connection.read(READ)
    wire.breaks.append("SELECT balance")

    assert connection.read(READ)[0].rows == [(1,), (1,)]
    assert (wire.connections, tokens.made) == (2, 2)


def test_a_read_that_loses_its_connection_twice_is_left_for_later(
    connection: DsqlConnection, wire: WireCounter
) -> None:
    wire.breaks += ["SELECT balance"] * 2

    with pytest.raises(Unavailable):
        connection.read(READ)

    assert wire.connections == 2


def test_a_statement_alone_is_repeated_after_a_loss_and_refused_like_any_other(
    connection: DsqlConnection, wire: WireCounter
) -> None:
    wire.breaks.append("SELECT 1")
    assert connection.run_alone(Statement("SELECT 1")) == [(1,)]
    with pytest.raises(Misconfigured):
        connection.run_alone(Statement("SELECT * FROM nowhere"))
    assert wire.connections == 2


def test_a_commit_whose_answer_was_lost_is_unknown_and_not_repeated(
    connection: DsqlConnection, wire: WireCounter, dsn: str
) -> None:
    wire.fates.append("lost after")

    with pytest.raises(OutcomeUnknown):
        connection.write([RAISE_A])

    assert balances(dsn) == [2, 1]
    connection.write([RAISE_A])
    assert balances(dsn) == [3, 1]


def test_a_commit_that_was_lost_on_its_way_is_unknown_too(
    connection: DsqlConnection, wire: WireCounter, dsn: str
) -> None:
    wire.fates.append("lost before")

    with pytest.raises(OutcomeUnknown):
        connection.write([RAISE_A])

    assert balances(dsn) == [1, 1]


def test_a_database_that_does_not_know_what_became_of_a_commit_leaves_it_unknown(
    connection: DsqlConnection, wire: WireCounter, dsn: str
) -> None:
    wire.fates.append("unavailable")

    with pytest.raises(OutcomeUnknown):
        connection.write([RAISE_A])

    assert balances(dsn) == [2, 1]


def test_a_database_that_cannot_be_reached_is_unavailable(dsn: str, clock: ManualClock) -> None:
    with counting("127.0.0.1", 1) as nowhere:
        port = nowhere.port
    unreachable = connection_to(dsn, port=port, clock=clock)

    with pytest.raises(Unavailable):
        unreachable.read(READ)


def test_missing_credentials_are_a_matter_of_configuration(dsn: str, clock: ManualClock) -> None:
    def no_token() -> str:
        raise NoCredentialsError

    with pytest.raises(Misconfigured):
        connection_to(dsn, clock=clock, token=no_token).read(READ)


@pytest.mark.parametrize(
    ("statement", "meaning"),
    [
        ("SELECT * FROM nowhere", Misconfigured),
        ("SELECT * FROM nowhere.accounts", Misconfigured),
        ("SAVEPOINT here", Misconfigured),
        ("INSERT INTO accounts VALUES ('a', 1)", PermanentError),
        ("SELECT 1/0", PermanentError),
        ("SELECT 'x'::bigint", PermanentError),
    ],
)
def test_a_refused_statement_writes_nothing_and_leaves_the_next_transaction_alone(
    connection: DsqlConnection, dsn: str, statement: str, meaning: type[RuntimeProblem]
) -> None:
    with pytest.raises(meaning) as caught:
        connection.write([RAISE_A, Statement(statement)])

    assert isinstance(caught.value.__cause__, psycopg.Error)
    connection.write([RAISE_A])
    assert balances(dsn) == [2, 1]


def test_a_value_that_is_no_valid_text_is_refused_for_good(connection: DsqlConnection, dsn: str) -> None:
    for value in ("\0", "\ud800"):
        with pytest.raises(PermanentError):
            connection.write([RAISE_A, Statement("SELECT %s::text", (value,))])
    assert balances(dsn) == [1, 1]


def test_no_error_of_the_driver_goes_untranslated() -> None:
    classes = {each for each in vars(psycopg_errors).values() if isinstance(each, type)}
    errors = [each for each in classes if issubclass(each, psycopg.Error) and each is not psycopg.errors.RaiseException]
    assert len(errors) > 250
    for error in errors:
        assert isinstance(dsql_connection.translated(error("no text")), RuntimeProblem)


def test_a_statement_alone_needs_no_transaction_around_it(connection: DsqlConnection, wire: WireCounter) -> None:
    assert connection.run_alone(Statement("CREATE TABLE IF NOT EXISTS more (id text PRIMARY KEY)")) == []
    assert connection.run_alone(Statement("SELECT %s::text", ("x",))) == [("x",)]
    assert wire.exchanges == 2
