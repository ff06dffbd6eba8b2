"""Parts of the stack for as long as a block runs: a database under DSQL's rules, the AWS emulator.

For tests and benchmarks. Each part also stops when its process is killed.
"""

import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from scripts.offline_stack import emulator, postgres
from scripts.offline_stack.clock import StackClock
from scripts.offline_stack.pieces import OwnPieces
from scripts.offline_stack.supervisor import Supervisor

DsnFactory = Callable[[], str]


@contextmanager
def postgres_dsql() -> Iterator[DsnFactory]:
    """A factory of connection strings, each for a new, empty database behind the DSQL proxy."""
    supervisor = Supervisor()
    with ExitStack() as stack:
        home = stack.enter_context(_temporary_folder("infinity-postgres-", postgres.public_temporary_folder()))
        folders = postgres.prepare_folders(home)
        postgres.initialise(folders)
        server = postgres.start(supervisor, folders, home / "postgres.log", _with_this_process())
        stack.callback(supervisor.stop, server.identity, postgres.STOP_SIGNAL)
        pieces = OwnPieces(supervisor, home, StackClock(home / "clock"), _with_this_process())
        proxy = pieces.start("dsql-proxy", "dsql_proxy", ["--backend-port", str(server.port)])
        stack.callback(supervisor.stop, proxy.identity)

        def fresh_dsn() -> str:
            name = f"test_{uuid.uuid4().hex}"
            postgres.create_database(server.port, name)
            return f"host=127.0.0.1 port={proxy.port} user=admin dbname={name}"

        yield fresh_dsn


@contextmanager
def ministack() -> Iterator[str]:
    """The endpoint URL of an emulator with an empty memory; `emulator.client_settings(url)` makes clients."""
    supervisor = Supervisor()
    with ExitStack() as stack:
        folder = stack.enter_context(_temporary_folder("infinity-emulator-", Path(tempfile.gettempdir())))
        clock = StackClock(folder / "clock")
        running = emulator.start(supervisor, folder / "tmp", folder / "emulator.log", clock, _with_this_process())
        stack.callback(supervisor.stop, running.identity)
        yield emulator.endpoint_of(running)


def _with_this_process() -> list[str]:
    return ["--with-parent", str(os.getpid())]


@contextmanager
def _temporary_folder(prefix: str, parent: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
