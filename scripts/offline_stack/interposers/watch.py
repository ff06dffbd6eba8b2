"""What all endpoints report to: it keeps the wire log, and decides when a process dies.

The log is JSON lines, one for each stage of an exchange, in the order in which they were seen:
    {"time", "what": "load" | "commit" | …, "stage": "arrived" | "passed on" | "answered", "pid", "killed",
     "threads"?, further facts of the exchange}
    {"time", "what": "process gone", "pid", "after_s"}
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from scripts.offline_stack.interposers.processes import DEATH_PATIENCE_S, Children, kill
from scripts.offline_stack.journal import Journal
from scripts.offline_stack.supervisor import ProcessIdentity, is_running

# arrived: we have the whole request, the service has nothing. passed on: the service has it, and we have no answer.
# answered: we have the whole answer, the client has none of it, or, of a database, not its end.
Stage = Literal["arrived", "passed on", "answered"]
Fact: TypeAlias = "str | int | Mapping[str, str]"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer. `what` is the step of a slice it stands for, or else the operation's own name."""

    what: str
    threads: Sequence[str] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kill:
    """A process that was killed at a stage of an exchange. `at` is in epoch seconds."""

    process: ProcessIdentity
    exchange: Exchange
    stage: Stage
    at: float


Strikes = Callable[[Exchange, Stage], bool]


class Trap:
    """Set once, it springs at most once."""

    def __init__(self, strikes: Strikes) -> None:
        self._strikes = strikes
        self._sprung = threading.Event()
        self._kill: Kill | None = None

    def springs(self, exchange: Exchange, stage: Stage) -> bool:
        return self._kill is None and self._strikes(exchange, stage)

    def record(self, kill: Kill) -> None:
        self._kill = kill
        self._sprung.set()

    def wait(self, timeout_s: float) -> Kill | None:
        """The kill, as soon as it has happened; None when it did not happen in this time."""
        self._sprung.wait(timeout_s)
        return self._kill


class Watch:
    """Sees every stage of every exchange of the watched processes. Safe to share between threads."""

    def __init__(self, processes: Children, journal: Journal) -> None:
        self._processes = processes
        self._journal = journal
        self._trap: Trap | None = None
        self._lock = threading.Lock()

    def client_of(self, client_port: int, server_port: int) -> ProcessIdentity | None:
        return self._processes.behind(client_port, server_port)

    def set_trap(self, strikes: Strikes) -> Trap:
        """Kill the process that comes first to a stage of an exchange for which `strikes` says so.

        It is asked once for each, by one thread at a time, in the order of the log. A trap set earlier is taken away.
        """
        trap = Trap(strikes)
        with self._lock:
            self._trap = trap
        return trap

    def lift(self, trap: Trap) -> Kill | None:
        """Take a trap away. Returns the kill, if it had sprung by then; otherwise it never will."""
        with self._lock:
            if self._trap is trap:
                self._trap = None
                return None
        return trap.wait(DEATH_PATIENCE_S)

    def see(self, exchange: Exchange, stage: Stage, client: ProcessIdentity | None) -> bool:
        """Note a stage, and spring the trap if it is set for this. Returns whether the client has been killed for it.

        Then the process is gone, and the caller passes nothing on to where it would have gone next.
        """
        with self._lock:
            trap = self._sprung_by(exchange, stage, client)
            self._note(exchange, stage, client, killed=trap is not None)
        if client is None or trap is None:
            return False
        began_at = time.time()
        kill(client)
        self._journal.write("process gone", pid=client.pid, after_s=round(time.time() - began_at, 4))
        trap.record(Kill(client, exchange, stage, began_at))
        return True

    def _sprung_by(self, exchange: Exchange, stage: Stage, client: ProcessIdentity | None) -> Trap | None:
        trap = self._trap
        # What a process had sent may still pass by when it is dead already, killed for another of its requests.
        if client is None or trap is None or not is_running(client) or not trap.springs(exchange, stage):
            return None
        self._trap = None
        return trap

    def _note(self, exchange: Exchange, stage: Stage, client: ProcessIdentity | None, *, killed: bool) -> None:
        names = {"threads": list(exchange.threads)} if exchange.threads else {}
        pid = client.pid if client else None
        self._journal.write(exchange.what, stage=stage, pid=pid, killed=killed, **names, **exchange.facts)
