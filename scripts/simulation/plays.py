"""Small scenarios, played until a message is on the queue; then what can go wrong at each call, one after the other."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product

from scripts.simulation.family_plays import FAMILY_PLAYS
from scripts.simulation.profile import Profile
from scripts.simulation.staging import MANY, Moves, Play, go_on, handle, speak
from scripts.simulation.walk import Run, run
from scripts.simulation.world import Move, World


def _tool(world: World) -> Moves:
    yield from speak(world)
    yield from handle(world, "builds")
    yield Move("tool 0", "answers at length")


def _interrupt(world: World) -> Moves:
    yield from speak(world)
    yield from handle(world, "builds")
    yield from speak(world)


def _late(world: World) -> Moves:
    yield from _interrupt(world)
    yield from handle(world, "deploys")
    yield Move("tool 0", "answers")


def _undelivered(world: World) -> Moves:
    yield from speak(world)
    yield from handle(world, "builds", invoked="takes it and breaks")


def _cancelled(world: World) -> Moves:
    yield from speak(world)
    yield from handle(world, "deploys")
    yield from speak(world)


def _sleep(world: World) -> Moves:
    yield from speak(world)
    yield from handle(world, "sleeps")


def _awake(world: World) -> Moves:
    yield from _sleep(world)
    yield Move("time", "passes")
    yield Move("timers", "go off")


def _woken(world: World) -> Moves:
    yield from _sleep(world)
    yield from speak(world)


def _woken_late(world: World) -> Moves:
    """The timer of a sleep that was interrupted goes off into the next one, and then somebody speaks."""
    yield from _woken(world)
    yield from handle(world, "sleeps")
    yield Move("timer 0", "goes off")
    yield from speak(world)


def _batch(world: World) -> Moves:
    yield from _interrupt(world)
    yield Move("tool 0", "answers")
    yield from speak(world)


PLAYS: Mapping[str, Play] = {
    "text": Play(speak),
    "loop back": Play(speak, "lists"),
    "tool": Play(_tool),
    "interrupt": Play(_interrupt),
    "late result": Play(_late),
    "undelivered": Play(_undelivered),
    "cancelled": Play(_cancelled, "cancels"),
    "batch": Play(_batch),
    "sleep": Play(speak, "sleeps"),
    "end of a sleep": Play(_awake),
    "interrupted sleep": Play(_woken, "sleeps"),
    "old timer": Play(_woken_late),
    "wake": Play(speak, "lists", Profile(settings={"completions_per_slice": 1})),
    "give up": Play(speak, "is misconfigured", Profile(settings={"patience_receives": 1})),
    **FAMILY_PLAYS,
}


def deaths(play: Play, processes: int = 1) -> Iterator[Run]:
    """Run the play once for each call that each of some processes in a row may die at, before it is made and after."""
    calls = range(1, _calls(play) + 1)
    for side in ("before", "after"):
        for numbers in product(calls, repeat=processes):
            yield run(play.profile, partial(_dying, play, numbers, side))


def overlaps(play: Play) -> Iterator[Run]:
    """Run the play with two processes that get the same messages, for each pair of calls at which they stop.

    Once the first one then goes on to its end before the second, and once after it.
    """
    stops = range(_calls(play) + 1)
    for first, second in product(stops, repeat=2):
        for ends_first in ("Z1", "Z2"):
            yield run(play.profile, partial(_overlapping, play, first, second, ends_first))


def _calls(play: Play) -> int:
    """Count the calls that a process makes which handles the message undisturbed."""
    undisturbed = run(play.profile, partial(_overlapping, play, MANY, 0, "Z1"))
    return sum(line.startswith("Z1 ") for line in undisturbed.trace) - 1  # the first line is its delivery


def _dying(play: Play, calls: tuple[int, ...], side: str, world: World) -> Moves:
    yield from play.prelude(world)
    for number, call in enumerate(calls):
        name = f"D{number}"
        yield Move(name, "receives")
        yield from go_on(world, name, {"model.complete": play.turn}, call - 1)
        yield Move(name, f"dies {side}")
        yield Move("time", "passes")


def _overlapping(play: Play, first: int, second: int, ends_first: str, world: World) -> Moves:
    yield from play.prelude(world)
    yield Move("Z1", "receives")
    yield from go_on(world, "Z1", {"model.complete": play.turn}, first)
    yield Move("time", "passes")
    yield Move("Z2", "receives")
    yield from go_on(world, "Z2", {}, second)
    yield from go_on(world, ends_first, {"model.complete": play.turn})
