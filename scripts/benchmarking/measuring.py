"""Processor time and memory of this process, and what a database has written."""

import gc
import resource
from dataclasses import dataclass
from pathlib import Path

import psycopg


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def resident_bytes() -> int:
    """Return the resident memory after a collection of garbage (Linux: /proc/self/status, VmRSS in kB)."""
    gc.collect()
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024


@dataclass(frozen=True, slots=True)
class Written:
    """What PostgreSQL has written so far: its log's position in bytes, and its committed transactions."""

    log_bytes: int
    transactions: int


class DatabaseMeter:
    """Asks PostgreSQL itself, over a connection of its own."""

    def __init__(self, dsn: str, schema: str) -> None:
        self._connection = psycopg.connect(dsn, autocommit=True)
        self._schema = schema

    def written(self) -> Written:
        row = self._connection.execute(
            "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint, xact_commit"
            " FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
        assert row is not None
        return Written(int(row[0]), int(row[1]))

    def stored_bytes(self) -> int:
        """Return the size of all tables of the schema with their indexes, dead row versions included."""
        row = self._connection.execute(
            "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.relkind = 'r' AND n.nspname = %s",
            (self._schema,),
        ).fetchone()
        assert row is not None
        return int(row[0])

    def close(self) -> None:
        self._connection.close()
