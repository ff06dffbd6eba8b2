"""The processes of the stack besides PostgreSQL and the emulator: how each is started."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.offline_stack.clock import StackClock
from scripts.offline_stack.emulator import REPOSITORY
from scripts.offline_stack.supervisor import (
    Piece,
    ProcessSpec,
    Supervisor,
    announced_port,
    bare_environment,
    wait_until_ready,
)

START_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class OwnPieces:
    """Starts our own Python modules, each with a log and a temporary folder of its own below `folder`, all by `clock`.

    They say `READY <port>` when they can be used; `launch` are options for the launcher.
    """

    supervisor: Supervisor
    folder: Path
    clock: StackClock
    launch: Sequence[str] = ()

    def start(self, name: str, module: str, options: Sequence[str]) -> Piece:
        log = self.folder / "log" / f"{name}.log"
        log.unlink(missing_ok=True)
        temporary = self.folder / "tmp" / name
        temporary.mkdir(parents=True, exist_ok=True)
        spec = ProcessSpec(
            name=name,
            command=[sys.executable, "-m", f"scripts.offline_stack.{module}", *options],
            log=log,
            environment=bare_environment(temporary, **self.clock.environment()),
            folder=REPOSITORY,
            launch_options=self.launch,
        )
        identity = self.supervisor.start(spec)
        return Piece(identity, wait_until_ready(spec, identity, lambda: announced_port(log), START_TIMEOUT_S))
