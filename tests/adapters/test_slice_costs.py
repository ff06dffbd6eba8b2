"""What one slice costs over the real stores, counted at the wire."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from runtime.adapters.aws.dynamodb import DynamoManifests, DynamoReceipts
from runtime.adapters.aws.sqs import SqsQueues
from runtime.identity import call_id_at, child_id
from runtime.model.turns import CachePoint, Completion, ModelRequest, TextBlock
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

    def cost_of(self, text: str, thread_id: str = "t") -> Cost:
        """Return what the slice costs that handles this text."""
        self.database.reset()
        self.state.operations.clear()
        self.queues.operations.clear()
        self.world.system.agent(thread_id).send_text(text)
        self.world.system.step()
        return Cost(
            self.database.exchanges,
            self.database.connections,
            sum(statement.lstrip().startswith(("CREATE", "ALTER")) for statement in self.database.statements),
            tuple(self.state.operations),
            tuple(self.queues.operations),
        )


def as_told(request: ModelRequest) -> Completion:
    """Do what the newest text says, if it is the newest thing at all: build, or begin a thread below these."""
    match request.messages[-1].blocks:
        case [*_, TextBlock("build")] | [*_, TextBlock("build"), CachePoint()]:
            return calls("run_build")
        case [*_, TextBlock(text), CachePoint()] if text.startswith("begin below "):
            return calls("spawn_thread", {"instructions": "Look.", "child_of": text.split()[2:]})
        case _:
            return says("Hello.")


@pytest.fixture
def costly(fresh_dsn: DsnFactory, aws_endpoint: str) -> Iterator[Costly]:
    world = World(as_told)
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


def begin_below(costly: Costly, stack: Sequence[str], called_at: int) -> str:
    """Have the last thread of the stack begin another one, by a call at this position. Returns the new one's id."""
    costly.cost_of(f"begin below {' '.join(stack)}", stack[-1])
    return child_id(stack[-1], call_id_at(stack[-1], called_at))


def test_a_turn_of_a_thread_costs_the_same_however_deep_it_is(costly: Costly) -> None:
    stack, called_at = ["t"], 2
    costs = []
    for _ in range(5):
        stack.append(begin_below(costly, stack, called_at))
        called_at += 3  # the result that the new thread begins with, the text that it is told, and its call
    for thread_id in (stack[1], stack[5]):
        costly.cost_of("build", thread_id)
        costs.append(costly.cost_of("build", thread_id))
    assert len(costly.world.calls) == 4
    # Its own history goes on where that of its parent was left: it is no new conversation of that name.
    assert costly.world.calls[2].call_id == call_id_at(stack[5], called_at)
    assert costs[0] == costs[1]
    assert costs[1].exchanges <= 3  # two to load, one to commit
    assert (costs[1].connections, costs[1].ddl) == (0, 0)
    assert (costs[1].dynamodb, costs[1].sqs) == (("BatchGetItem", "BatchWriteItem"), ("SendMessageBatch",))
