"""What all endpoints report to: it keeps the wire log, and decides when a process dies, waits or is cut off.

The log is JSON lines, one for each stage of an exchange, in the order in which they were seen:
    {"time", "what": "load" | "commit" | …, "stage": "arrived" | "passed on" | "ending" | "answered", "pid",
     "killed", "done"?: "hold" | "end here" | "conflict", "threads"?, further facts of the exchange}
    {"time", "what": "process gone", "pid", "after_s"}
"""

import threading
import time
from dataclasses import dataclass

from scripts.offline_stack.interposers.interventions import Exchange, Fault, Hold, Ruling, Stage, Strikes
from scripts.offline_stack.interposers.processes import DEATH_PATIENCE_S, Children, kill
from scripts.offline_stack.journal import Journal
from scripts.offline_stack.supervisor import ProcessIdentity, is_running


@dataclass(frozen=True, slots=True)
class Kill:
    """A process that was killed at a stage of an exchange. `at` is in epoch seconds."""

    process: ProcessIdentity
    exchange: Exchange
    stage: Stage
    at: float


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
        self._holds: list[Hold] = []
        self._faults: list[Fault] = []
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

    def hold(self, strikes: Strikes, after: Hold | None = None) -> Hold:
        """Have the process that comes first to a stage for which `strikes` says so wait there until it is released."""
        hold = Hold(strikes, after)
        with self._lock:
            self._holds.append(hold)
        return hold

    def set_fault(self, strikes: Strikes, ruling: Ruling, times: int = 1) -> Fault:
        """Have this ruling for the first stages for which `strikes` says so. A conflict is for a commit's ending."""
        fault = Fault(strikes, ruling, times)
        with self._lock:
            self._faults.append(fault)
        return fault

    def see(self, exchange: Exchange, stage: Stage, client: ProcessIdentity | None) -> Ruling:
        """Note a stage, do what is to be done at it, and say how it goes on from here. Returns late for what is held.

        A client that was killed is gone by then. "end here" means: pass nothing on to where it would have gone next.
        """
        with self._lock:
            trap = self._sprung_by(exchange, stage, client)
            fault = None if trap else self._fault_of(exchange, stage, client)
            hold = None if trap or fault else self._hold_of(exchange, stage, client)
            self._note(exchange, stage, client, killed=trap is not None, done=_done(fault, hold))
        if hold is not None:
            hold.keep()
        if client is None or trap is None:
            return fault.ruling if fault else "pass on"
        began_at, started = self._journal.now(), time.monotonic()
        kill(client)
        self._journal.write("process gone", pid=client.pid, after_s=round(time.monotonic() - started, 4))
        trap.record(Kill(client, exchange, stage, began_at))
        return "end here"

    def _sprung_by(self, exchange: Exchange, stage: Stage, client: ProcessIdentity | None) -> Trap | None:
        trap = self._trap
        # What a process had sent may still pass by when it is dead already, killed for another of its requests.
        if client is None or trap is None or not is_running(client) or not trap.springs(exchange, stage):
            return None
        self._trap = None
        return trap

    def _fault_of(self, exchange: Exchange, stage: Stage, client: ProcessIdentity | None) -> Fault | None:
        if client is None:
            return None
        return next((fault for fault in self._faults if fault.befalls(exchange, stage)), None)

    def _hold_of(self, exchange: Exchange, stage: Stage, client: ProcessIdentity | None) -> Hold | None:
        if client is None:
            return None
        return next((hold for hold in self._holds if hold.catches(exchange, stage, client)), None)

    def _note(
        self, exchange: Exchange, stage: Stage, client: ProcessIdentity | None, *, killed: bool, done: dict[str, str]
    ) -> None:
        names = {"threads": list(exchange.threads)} if exchange.threads else {}
        pid = client.pid if client else None
        self._journal.write(exchange.what, stage=stage, pid=pid, killed=killed, **done, **names, **exchange.facts)


def _done(fault: Fault | None, hold: Hold | None) -> dict[str, str]:
    if fault is not None:
        return {"done": fault.ruling}
    return {} if hold is None else {"done": "hold"}
