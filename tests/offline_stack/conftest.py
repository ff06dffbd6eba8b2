"""An endpoint of ours in front of a service, and in front of a database, each with what it sees."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from scripts.offline_stack.interposers.database_endpoint import DatabaseEndpoint
from scripts.offline_stack.interposers.http_endpoint import HttpEndpoint
from scripts.offline_stack.interposers.processes import Children
from scripts.offline_stack.interposers.watch import Watch
from scripts.offline_stack.journal import Journal
from scripts.offline_stack.supervisor import identify
from scripts.offline_stack.throwaway import DsnFactory
from tests.support.interposed import Service, Watched, Way


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    log = tmp_path / "wire.jsonl"
    return Watched(Watch(Children(identify(os.getpid())), Journal(log)), log)


@pytest.fixture
def way(watched: Watched) -> Iterator[Way]:
    service = Service()
    endpoint = HttpEndpoint(f"http://127.0.0.1:{service.server_port}", watched.watch)
    for server in (service, endpoint):
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield Way(service, endpoint)
    endpoint.close()
    service.shutdown()
    service.server_close()


@pytest.fixture
def notes(fresh_dsn: DsnFactory) -> str:
    dsn = fresh_dsn()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE notes (note text PRIMARY KEY)")
    return dsn


@pytest.fixture
def database(notes: str, watched: Watched) -> Iterator[str]:
    """The same database, past us."""
    parts = psycopg.conninfo.conninfo_to_dict(notes)
    endpoint = DatabaseEndpoint(int(parts["port"] or 0), watched.watch)
    endpoint.start()
    yield psycopg.conninfo.make_conninfo(notes, port=endpoint.port, sslmode="disable", gssencmode="disable")
    endpoint.close()
