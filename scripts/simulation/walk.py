"""A run: moves by chance, then calm until nothing moves any more. The same moves give the same run."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from scripts.simulation.answers import kills
from scripts.simulation.choices import Choice, choices
from scripts.simulation.profile import Profile, any_profile
from scripts.simulation.rest import check_rest
from scripts.simulation.system import System
from scripts.simulation.violation import Violation
from scripts.simulation.world import Move, World

CALM = "from here on, nothing fails"
_CALM_MOVES = 3_000
_SILENT = 3  # of every four tools, one that nobody told to answer never does
_WEIGHTS = {
    "ok": 3,
    "builds": 6,
    "deploys": 3,
    "waits": 2,
    "lists": 2,
    "cancels": 2,
    "spawns": 6,
    "spawns afresh": 3,
    "tells a child": 4,
    "closes": 3,
    "closes with a report": 3,
    "reports": 2,
    "unsubscribes": 2,
    "reads much": 5,
    "reads much and builds": 5,
    "answers and goes on": 4,
}
Build = Callable[[Profile], System]


@dataclass(frozen=True, slots=True)
class Run:
    """`violation` is None when every promise was kept."""

    profile: Profile
    moves: tuple[Move, ...]
    trace: tuple[str, ...]
    violation: Violation | None = None
    met: Mapping[str, int] = field(default_factory=dict)


def walk(seed: int, build: Build = System, profile: Profile | None = None) -> Run:
    """Run with everything chosen by this seed, the profile, too, unless it is given."""
    chance = random.Random(seed)  # noqa: S311 - chosen, not secret
    profile = profile or any_profile(chance)
    return run(profile, lambda world: _wandering(world, chance), build)


def replay(profile: Profile, moves: Iterable[Move], build: Build = System) -> Run:
    """Run with these moves; one that cannot be made when its turn comes is left out."""
    return run(profile, lambda _: moves, build)


def run(profile: Profile, moves: Callable[[World], Iterable[Move]], build: Build = System) -> Run:
    """Make these moves, let everything come to rest, and look whether every promise was kept."""
    world = World(build(profile))
    made: list[Move] = []
    violation = None
    try:
        for move in moves(world):
            made.append(move)
            if not world.do(move):
                made.pop()
        world.trace.append(CALM)
        calm(world)
        check_rest(world.system)
    except Violation as found:
        violation = found
    finally:
        world.close()
    return Run(profile, tuple(made), tuple(world.trace), violation, world.system.met)


def _wandering(world: World, chance: random.Random) -> Iterator[Move]:
    for _ in range(world.system.profile.moves):
        possible = list(choices(world))
        if not possible:
            return
        choice = _chosen(possible, world.system.profile.fault_rate, chance)
        world.pay(choice.move, choice.fault)
        yield choice.move


def _chosen(possible: list[Choice], fault_rate: float, chance: random.Random) -> Choice:
    """Choose a kind of fault or none, then who it is about, then one of what may become of that."""
    faults = [choice for choice in possible if choice.fault is not None]
    ordinary = [choice for choice in possible if choice.fault is None]
    if faults and (not ordinary or chance.random() < fault_rate):
        kind = chance.choice(sorted({str(choice.fault) for choice in faults}))
        return _of_anyone([choice for choice in faults if choice.fault == kind], chance)
    return _of_anyone(ordinary, chance)


def _of_anyone(possible: list[Choice], chance: random.Random) -> Choice:
    who = chance.choice(sorted({choice.move.who for choice in possible}))
    theirs = [choice for choice in possible if choice.move.who == who]
    return chance.choices(theirs, [_WEIGHTS.get(choice.move.how, 1) for choice in theirs])[0]


def calm(world: World) -> None:
    """Let everything come to rest, without a further fault.

    Raises:
        Violation: a promise was broken, or it never rests.
    """
    for _ in range(_CALM_MOVES):
        move = _next_calm_move(world)
        if move is None:
            return
        world.do(move)
    raise Violation("everything comes to rest", f"still moving after {_CALM_MOVES} moves")


def _next_calm_move(world: World) -> Move | None:
    if world.alive:
        process = world.alive[len(world.trace) % len(world.alive)]
        assert process.call is not None
        return Move(process.name, "dies before" if kills(process.call) else "ok")
    if world.outcomes.model_is_away:
        return Move("model", "comes back")
    return Move("commit 0", "lands") if world.late else _next_of_outside(world)


def _next_of_outside(world: World) -> Move | None:
    system = world.system
    now_ms = system.clock.now_ms()
    visible_ms, due_ms = system.inputs.next_visible_ms(), system.timers.next_due_ms()
    if visible_ms is not None and visible_ms <= now_ms:
        return Move(f"Q{world.started + 1}", "receives")
    if due_ms is not None and due_ms <= now_ms:
        return Move("timers", "go off")
    for index, taken in enumerate(system.tools.taken.values()):
        if not taken.answers and index % 4 != _SILENT:
            return Move(f"tool {index}", "answers")
    if visible_ms is not None or due_ms is not None:
        return Move("time", "passes")
    return Move("letters", "are put back") if len(system.dead_letters) else None
