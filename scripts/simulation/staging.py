"""What small scenarios are put together from."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from scripts.simulation.profile import CALM, Profile
from scripts.simulation.world import Move, World

Moves = Iterator[Move]
MANY = 1_000


@dataclass(frozen=True, slots=True)
class Play:
    """`prelude` puts a message on the queue; `turn` is what becomes of the first completion that it leads to."""

    prelude: Callable[[World], Moves]
    turn: str = "builds"
    profile: Profile = CALM


def speak(_: World) -> Moves:
    yield Move("t", "is spoken to")


def handle(world: World, turn: str, invoked: str = "ok") -> Moves:
    """Handle what is on the queue, undisturbed."""
    name = f"A{world.started}"
    yield Move(name, "receives")
    yield from go_on(world, name, {"model.complete": turn, "servers.invoke": invoked})


def go_on(world: World, name: str, outcomes: Mapping[str, str], calls: int = MANY) -> Moves:
    """Let the process make this many calls, each outcome coming true once."""
    left = dict(outcomes)
    process = world.processes.get(name)
    for _ in range(calls):
        if process is None or process.call is None:
            return
        yield Move(name, left.pop(process.call.name, "ok"))
