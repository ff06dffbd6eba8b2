"""The shortest run that can be found which breaks the same promise."""

from collections.abc import Callable, Sequence

from scripts.simulation.system import System
from scripts.simulation.walk import Build, Run, replay
from scripts.simulation.world import Move


def shortest(found: Run, build: Build = System) -> Run:
    """Return a run that breaks the same promise and from which no move, and no group of moves, can be left out."""
    assert found.violation is not None
    rule = found.violation.rule

    def again(moves: Sequence[Move]) -> Run | None:
        run = replay(found.profile, moves, build)
        return run if run.violation is not None and run.violation.rule == rule else None

    best = again(found.moves)
    if best is None:
        return found
    size = max(1, len(best.moves) // 2)
    while True:
        smaller = _without_a_group(best, size, again)
        if smaller is not None:
            best = smaller
        elif size == 1:
            return best
        else:
            size //= 2


def _without_a_group(run: Run, size: int, again: Callable[[Sequence[Move]], Run | None]) -> Run | None:
    """Leave out one group of this many moves after the other; return what is left, None if all are needed."""
    best: Run | None = None
    moves, start = run.moves, 0
    while start < len(moves):
        tried = again(moves[:start] + moves[start + size :])
        if tried is None:
            start += size
        else:
            # A run may have left out further moves by itself.
            best, moves = tried, tried.moves
    return best
