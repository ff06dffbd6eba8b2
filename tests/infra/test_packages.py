"""The folders that become code and layers: complete, reproducible, made once."""

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from infra.packages import MADE_AT, PROJECT, Wheels, handlers_code, runtime_layer, third_party_layer

REQUIREMENTS = PROJECT / "runtime" / "requirements.txt"
UNZIPPED_LIMIT_BYTES = 250 * 1024 * 1024  # Lambda: function and layers together

# Imports every named module with nothing on the path but the standard library and the given folders.
IMPORT_ALL = """
import importlib, sys
folders, modules = sys.argv[1].split(":"), sys.argv[2].split(",")
sys.path[:0] = folders
for module in modules:
    importlib.import_module(module)
print(len(modules), "imported")
"""


@pytest.fixture(scope="module")
def arm64() -> Path:
    return third_party_layer(Wheels(REQUIREMENTS)) / "python"


@pytest.fixture(scope="module")
def this_machine() -> Path:
    """The same pinned packages for the machine that runs the tests: arm64 binaries cannot be imported everywhere."""
    return third_party_layer(Wheels(REQUIREMENTS, platform=())) / "python"


def test_every_runtime_module_and_handler_imports_from_the_layers_with_everything_else_hidden(
    this_machine: Path,
) -> None:
    runtime, handlers = runtime_layer() / "python", handlers_code()
    modules = [*_modules(runtime, "runtime"), *_modules(handlers, "handlers")]

    folders = ":".join(str(folder) for folder in (handlers, runtime, this_machine))
    command = [sys.executable, "-I", "-S", "-B", "-c", IMPORT_ALL, folders, ",".join(modules)]
    imported = subprocess.run(command, capture_output=True, text=True, check=False)

    assert imported.stderr == ""
    assert imported.stdout == f"{len(modules)} imported\n"
    assert len(modules) > 10


def test_the_layer_for_lambda_holds_the_same_distributions_as_the_one_that_was_imported(
    arm64: Path, this_machine: Path
) -> None:
    assert _distributions(arm64) == _distributions(this_machine) == _pinned()


def test_the_layer_for_lambda_holds_binaries_for_lambda_alone(arm64: Path) -> None:
    binaries = [path.name for path in arm64.rglob("*.so") if "cpython" in path.name]

    assert binaries
    assert all(name.endswith("cpython-313-aarch64-linux-gnu.so") for name in binaries)


def test_code_and_layers_fit_lambda(arm64: Path) -> None:
    folders = (arm64, runtime_layer(), handlers_code())

    size = sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file())
    assert size < UNZIPPED_LIMIT_BYTES


def test_folders_built_in_two_places_are_the_same(tmp_path: Path) -> None:
    for build in (runtime_layer, handlers_code):
        first, second = build(tmp_path / "a"), build(tmp_path / "b")
        assert first.name == second.name
        assert _contents(first) == _contents(second)


def test_third_party_layers_built_in_two_places_are_the_same(tmp_path: Path) -> None:
    wheels = Wheels(REQUIREMENTS)
    kept, again = third_party_layer(wheels), third_party_layer(wheels, tmp_path)

    assert kept.name == again.name
    assert _contents(kept) == _contents(again)


def test_no_file_carries_compiled_code_or_the_time_it_was_made(arm64: Path) -> None:
    for folder in (arm64, runtime_layer(), handlers_code()):
        for path in folder.rglob("*"):
            assert path.suffix != ".pyc"
            assert path.name != "__pycache__"
            assert path.is_dir() or path.stat().st_mtime == MADE_AT


def test_a_folder_is_made_once_and_then_found(tmp_path: Path) -> None:
    first = runtime_layer(tmp_path)
    made = first.stat().st_ino

    assert runtime_layer(tmp_path) == first
    assert first.stat().st_ino == made


def test_synths_side_by_side_share_one_complete_folder(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(runtime_layer, [tmp_path] * 8))

    assert set(tmp_path.iterdir()) == folders
    assert len(folders) == 1


def test_what_pip_says_is_said_and_nothing_half_made_stays_behind(tmp_path: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("not a requirement\n")

    with pytest.raises(RuntimeError, match="Invalid requirement"):
        third_party_layer(Wheels(requirements), tmp_path / "build")
    assert list((tmp_path / "build").iterdir()) == []


def test_only_the_newest_builds_are_kept(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"runtime-old{number}").mkdir()

    newest = runtime_layer(tmp_path)

    assert newest.is_dir()
    assert len(list(tmp_path.iterdir())) == 4


def _modules(folder: Path, package: str) -> list[str]:
    files = sorted((folder / package).rglob("*.py"))
    names = [".".join(file.relative_to(folder).with_suffix("").parts) for file in files]
    return [name.removesuffix(".__init__") for name in names]


def _distributions(folder: Path) -> set[str]:
    """`name==version` of everything installed in a folder, names as wheels write them."""
    names = [path.name.removesuffix(".dist-info") for path in folder.glob("*.dist-info")]
    return {"==".join(name.rsplit("-", 1)) for name in names}


def _pinned() -> set[str]:
    lines = [line.split(" ")[0] for line in REQUIREMENTS.read_text().splitlines() if "==" in line]
    return {line.replace("-", "_") for line in lines if not line.startswith("#")}


def _contents(folder: Path) -> dict[str, tuple[int, str]]:
    """Mode and hash of every file below a folder."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in folder.rglob("*")
        if path.is_file()
    }
