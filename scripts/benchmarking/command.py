"""`scripts/bench slice|store [--agents N] [--turns N] [--json FILE]`: workload W, counted in this process.

`slice` keeps history in memory; `store` keeps it in PostgreSQL through the adapter for Aurora DSQL. Machines differ and
are shared: compare processor time and bytes, and figures of one run with each other, not wall clock between runs.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table

from runtime.adapters.aws.dsql_connection import DsqlConnection
from runtime.adapters.aws.dsql_endpoint import Endpoint
from runtime.adapters.aws.dsql_history import DsqlHistory
from runtime.adapters.aws.migrations import migrate
from runtime.adapters.clock import SystemClock
from runtime.ports import History
from scripts.benchmarking.measuring import DatabaseMeter, cpu_s, resident_bytes
from scripts.benchmarking.workload import Bench, Workload
from scripts.commands.files import writable_file
from scripts.offline_stack.throwaway import postgres_dsql

SCHEMA = "infinity"
WORKLOAD = """\
Workload W, counted in this process: every agent takes its turns, each a message, a completion that calls a tool,
nothing running while the tool works, its result from outside, and a completion that answers; the model is scripted and
instant."""
WHAT = "slice: history in memory; store: history in PostgreSQL, through the adapter for Aurora DSQL"
Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Store:
    history: History
    meter: DatabaseMeter


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=WORKLOAD)
    parser.add_argument("what", choices=["slice", "store"], metavar="slice|store", help=WHAT)
    parser.add_argument("--agents", type=int, default=100, help="how many (default: 100)")
    parser.add_argument("--turns", type=int, default=20, help="of each agent (default: 20)")
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args(words)
    workload = Workload(arguments.agents, arguments.turns)
    figures = in_memory(workload) if arguments.what == "slice" else in_database(workload)
    _show(figures)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


def in_memory(workload: Workload) -> Figures:
    """Return the figures of W with every port in memory."""
    return _run(workload, Bench(workload), "memory ports")


def in_database(workload: Workload) -> Figures:
    """Return the figures of W with history behind the DSQL rules, and what the database wrote for it."""
    with _store() as store:
        before = store.meter.written()
        figures = _run(workload, Bench(workload, store.history), "DSQL adapter, PostgreSQL behind the DSQL rules")
        written = store.meter.written()
        return figures | {
            "bytes_stored_per_agent": store.meter.stored_bytes() // workload.agents,
            "log_bytes_per_completion": (written.log_bytes - before.log_bytes) // workload.completions,
            "transactions_per_completion": round(
                (written.transactions - before.transactions) / workload.completions, 2
            ),
        }


@contextmanager
def _store() -> Iterator[Store]:
    clock = SystemClock()
    with postgres_dsql() as fresh_dsn:
        dsn = fresh_dsn()
        parts = psycopg.conninfo.conninfo_to_dict(dsn)
        endpoint = Endpoint(str(parts["host"]), "admin", int(str(parts["port"])), "off", str(parts["dbname"]))
        connection = DsqlConnection(endpoint, lambda: "any", clock)
        meter = DatabaseMeter(dsn, SCHEMA)
        try:
            migrate(connection, SCHEMA, clock)
            yield Store(DsqlHistory(connection, SCHEMA), meter)
        finally:
            connection.close()
            meter.close()


def _run(workload: Workload, bench: Bench, store: str) -> Figures:
    memory_before = resident_bytes()
    idle_bytes: list[int] = []
    turns_ms: list[float] = []
    started_s, started_cpu_s = time.perf_counter(), cpu_s()
    for number in range(workload.turns):
        turn_started_s = cpu_s()
        is_last = number == workload.turns - 1
        bench.turn(number, when_idle=(lambda: idle_bytes.append(resident_bytes())) if is_last else lambda: None)
        turns_ms.append((cpu_s() - turn_started_s) / workload.agents * 1000)
    used_s = cpu_s() - started_cpu_s
    return {
        "store": store,
        "agents": workload.agents,
        "turns": workload.turns,
        "completions": workload.completions,
        "wall_s": round(time.perf_counter() - started_s, 2),
        "cpu_s": round(used_s, 2),
        "completions_per_cpu_s": round(workload.completions / used_s),
        "memory_per_idle_agent_bytes": (idle_bytes[-1] - memory_before) // workload.agents,
        "cpu_ms_of_first_turn": round(turns_ms[0], 2),
        "cpu_ms_of_last_turn": round(turns_ms[-1], 2),
    }


def _show(figures: Figures) -> None:
    table = Table("figure", "value", title="workload W", title_justify="left")
    for name, value in figures.items():
        table.add_row(name.replace("_", " "), f"{value:,}" if isinstance(value, int | float) else str(value))
    Console().print(table)
