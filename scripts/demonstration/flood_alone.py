"""`python -m scripts.demonstration.flood_alone --events 500`: a flood by itself, on the stack that is up.

The budget of live children is the one that is deployed.
"""

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from runtime.settings import Settings
from scripts.commands.target import TargetError, offline_target
from scripts.demonstration.flood import play_flood
from scripts.demonstration.flood_verdicts import judge_flood
from scripts.offline_stack.stack import OfflineStack

WARM_UP_EVENTS = 100


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts.demonstration.flood_alone", description="Flood a thread with events."
    )
    parser.add_argument("--events", type=int, default=500)
    events = parser.parse_args(words).events
    stack, console = OfflineStack(), Console(highlight=False)
    try:
        target = offline_target(stack)
    except TargetError as error:
        parser.error(str(error))
    budget = Settings().live_children
    # Whatever processes it takes begin now: later they would take these processors from those who talk meanwhile.
    play_flood(stack, target, console, WARM_UP_EVENTS, budget)
    checks = judge_flood(play_flood(stack, target, console, events, budget))
    for check in checks:
        console.print(Text(f"{'kept  ' if check.kept else 'BROKEN'} {check.promise}  ({check.seen})"))
    return 0 if all(check.kept for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
