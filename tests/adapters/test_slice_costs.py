"""What one slice costs over the real stores, counted at the wire."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from runtime.adapters.aws.dynamodb import DynamoManifests, DynamoReceipts
from runtime.adapters.aws.sqs import SqsQueues
from tests.support.aws_wire import Wire
from tests.support.clients import create_fifo_queue, create_state_table, dynamodb_client, sqs_client
from tests.support.dsql import connection_to, endpoint_of, history_on, migrated
from tests.support.services import DsnFactory
from tests.support.values import calls, says
from tests.support.wire_counter import WireCounter, counting
from tests.support.world import World


@dataclass(frozen=True)
class Cost:
    exchanges: int
    connections: int
    ddl: int
    dynamodb: tuple[str, ...]
    sqs: tuple[str, ...]


@dataclass
class Costly:
    """A world whose history, receipts, manifests and sending are real, and what they exchange with their services."""

    world: World
    database: WireCounter
    state: Wire
    queues: Wire

    def cost_of(self, text: str) -> Cost:
        """Return what the slice costs that handles this text."""
        self.database.reset()
        self.state.operations.clear()
        self.queues.operations.clear()
        self.world.say(text)
        self.world.system.step()
        return Cost(
            self.database.exchanges,
            self.database.connections,
            sum(statement.lstrip().startswith(("CREATE", "ALTER")) for statement in self.database.statements),
            tuple(self.state.operations),
            tuple(self.queues.operations),
        )


@pytest.fixture
def costly(fresh_dsn: DsnFactory, aws_endpoint: str) -> Iterator[Costly]:
    world = World(lambda request: calls("run_build") if len(request.messages) == 7 else says("Hello."))
    endpoint = endpoint_of(dsn := migrated(fresh_dsn()))
    dynamodb, sqs = dynamodb_client(aws_endpoint), sqs_client(aws_endpoint)
    table = create_state_table(dynamodb)
    with counting(endpoint.host, endpoint.port) as database:
        connection = connection_to(dsn, port=database.port)
        world.put_in(
            history=history_on(connection),
            receipts=DynamoReceipts(dynamodb, table, world.clock, 60),
            manifests=DynamoManifests(dynamodb, table, world.clock, 60),
            queues=SqsQueues(sqs, create_fifo_queue(sqs), create_fifo_queue(sqs), world.ports.keyring, world.clock),
        )
        yield Costly(world, database, Wire(dynamodb), Wire(sqs))
        connection.close()


def test_a_warm_slice_of_one_turn_exchanges_as_little_as_can_be(costly: Costly) -> None:
    assert costly.cost_of("hello").dynamodb[:2] == ("BatchGetItem", "Query")  # what is kept of the root's manifests
    for text in ("and now?", "and then?"):
        cost = costly.cost_of(text)
        assert cost.exchanges <= 3  # two to load, one to commit
        assert (cost.connections, cost.ddl) == (0, 0)
        assert cost.dynamodb == ("BatchGetItem", "BatchWriteItem")
        assert cost.sqs == ("SendMessageBatch",)


def test_a_slice_that_hands_a_call_over_costs_no_more(costly: Costly) -> None:
    for text in ("hello", "and now?", "and then?"):
        costly.cost_of(text)
    cost = costly.cost_of("build")
    assert len(costly.world.calls) == 1
    assert (cost.exchanges, cost.dynamodb, cost.sqs) == (2, ("BatchGetItem", "BatchWriteItem"), ("SendMessageBatch",))
