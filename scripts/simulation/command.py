"""`scripts/simulate [--walks N] [--seed S] [--jobs N] | --plays`: runs of the real slices under every kind of fault.

Walk i of seed S is walk 0 of seed S + i, whatever else is run. A run that breaks a promise is shown as short as it
can be made, with the command that shows it again.
"""

import argparse
import logging
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import track

from scripts.simulation.plays import PLAYS, deaths, overlaps
from scripts.simulation.shrinking import shortest
from scripts.simulation.walk import Run, walk

_WALKS_OF_A_JOB = 50
_SHOWN_MOVES = 200


@dataclass(frozen=True, slots=True)
class Tally:
    """What some walks came to. `broken` are the seeds of those that broke a promise."""

    walks: int
    moves: int
    met: Counter[str] = field(default_factory=Counter)
    broken: tuple[int, ...] = ()


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/simulate", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--walks", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first walk; the next one has the next seed")
    parser.add_argument(
        "--plays", action="store_true", help="small scenarios in full instead, with two deaths in a row"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    arguments = parser.parse_args(words)
    logging.getLogger("runtime").setLevel(logging.CRITICAL)  # repairs are what a run is about
    console = Console(width=160)
    return _play(console) if arguments.plays else _walk(arguments, console)


def _play(console: Console) -> int:
    """Run every small scenario in full."""
    broken = 0
    for name, play in PLAYS.items():
        runs = [*overlaps(play), *deaths(play, processes=2)]
        found = [run for run in runs if run.violation is not None]
        console.print(f"{name}: {len(runs):,} runs: {len(found)} broke a promise", highlight=False)
        if found:
            show_run(min(found, key=lambda run: len(run.moves)), console)
        broken += len(found)
    return 1 if broken else 0


def _walk(arguments: argparse.Namespace, console: Console) -> int:
    started_s = time.perf_counter()
    jobs = _jobs(arguments.seed, arguments.walks)
    tallies = list(track(_tallies(jobs, arguments.jobs), "walking", len(jobs), console=console, transient=True))
    _show(tallies, time.perf_counter() - started_s, console)
    broken = [seed for tally in tallies for seed in tally.broken]
    if broken:
        _show_broken(broken, console)
    return 1 if broken else 0


def _jobs(seed: int, walks: int) -> list[range]:
    end = seed + walks
    return [range(first, min(first + _WALKS_OF_A_JOB, end)) for first in range(seed, end, _WALKS_OF_A_JOB)]


def _tallies(jobs: Sequence[range], processes: int) -> Iterator[Tally]:
    if processes == 1:
        yield from map(tally_of, jobs)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(tally_of, jobs)


def tally_of(seeds: Sequence[int]) -> Tally:
    """Walk once with each seed."""
    logging.getLogger("runtime").setLevel(logging.CRITICAL)
    moves, met, broken = 0, Counter[str](), []
    for seed in seeds:
        run = walk(seed)
        moves += len(run.trace)
        met.update(run.met)
        if run.violation is not None:
            broken.append(seed)
    return Tally(len(seeds), moves, met, tuple(broken))


def _show(tallies: Sequence[Tally], seconds: float, console: Console) -> None:
    met = Counter[str]()
    for tally in tallies:
        met.update(tally.met)
    walks, moves = sum(tally.walks for tally in tallies), sum(tally.moves for tally in tallies)
    broken = sum(len(tally.broken) for tally in tallies)
    console.print(f"{walks:,} walks, {moves:,} moves, {seconds:.0f} s: {broken} broke a promise")
    console.print("met: " + ", ".join(f"{name} {count:,}" for name, count in met.most_common()))


def _show_broken(seeds: Sequence[int], console: Console) -> None:
    """Show the first one in full, and how to see each of them again."""
    run = shortest(walk(seeds[0]))
    show_run(run, console)
    for seed in seeds:
        console.print(f"again: scripts/simulate --walks 1 --seed {seed}")


def show_run(run: Run, console: Console) -> None:
    console.print(f"[bold]{run.violation}[/bold]", highlight=False)
    console.print(f"limits: {dict(run.profile.settings)}, at most {run.profile.max_receives} receives", highlight=False)
    for number, line in enumerate(run.trace[:_SHOWN_MOVES], start=1):
        console.print(f"{number:4} {line}", highlight=False, markup=False)
