import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from scripts.offline_stack import postgres
from scripts.offline_stack.supervisor import Supervisor


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    supervisor = Supervisor()
    yield supervisor
    supervisor.stop_children()


def test_it_starts_below_a_folder_that_is_closed_to_everybody_else(supervisor: Supervisor, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)

    home = postgres.choose_home(tmp_path / "postgres")
    try:
        folders = postgres.prepare_folders(home)
        postgres.initialise(folders)
        piece = postgres.start(supervisor, folders, tmp_path / "log")
        postgres.create_database(piece.port, "of_its_own")

        with psycopg.connect(f"host=127.0.0.1 port={piece.port} user=postgres dbname=of_its_own") as connection:
            assert connection.execute("SELECT 'B' < 'a'").fetchone() == (True,)  # the C collation
    finally:
        supervisor.stop_children()
        shutil.rmtree(home)


def test_a_second_initialisation_keeps_the_data(supervisor: Supervisor, tmp_path: Path) -> None:
    home = postgres.choose_home(tmp_path / "postgres")
    try:
        folders = postgres.prepare_folders(home)
        postgres.initialise(folders)
        piece = postgres.start(supervisor, folders, tmp_path / "log")
        postgres.create_database(piece.port, "kept")
        supervisor.stop(piece.identity, postgres.STOP_SIGNAL)

        again = postgres.prepare_folders(home)
        postgres.initialise(again)
        piece = postgres.start(supervisor, again, tmp_path / "log")

        psycopg.connect(f"host=127.0.0.1 port={piece.port} user=postgres dbname=kept").close()
    finally:
        supervisor.stop_children()
        shutil.rmtree(home)


def test_copied_programs_find_their_libraries_without_the_package(tmp_path: Path) -> None:
    package = postgres.packaged_binaries().parents[1]
    installed = tmp_path / "site-packages" / package.name / "pginstall"
    shutil.copytree(package / "pginstall", installed, symlinks=True)
    for libraries in package.parent.glob(f"{package.name}.libs"):
        shutil.copytree(libraries, tmp_path / "site-packages" / libraries.name)

    copied = postgres.copied_for_others(installed / "bin", tmp_path / "programs")
    shutil.rmtree(tmp_path / "site-packages")

    assert "16." in subprocess.run([copied / "initdb", "--version"], capture_output=True, text=True, check=True).stdout
