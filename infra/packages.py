"""The folders that become Lambda code and layers, made without Docker.

Each folder lives under `.build/` and is named by a hash of what goes into it. So it is made once, never changed
afterwards (two synths side by side are safe), needs no network the second time, and the same sources give the same
asset wherever they lie.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
BUILD = PROJECT / ".build"

# The platform the functions run on. Amazon Linux 2023 has glibc 2.34, so wheels for 2.28 fit; without the second
# platform pip would take a psycopg from before its wheels moved to 2.28.
LAMBDA_PLATFORM = (
    *("--platform", "manylinux2014_aarch64", "--platform", "manylinux_2_28_aarch64"),
    *("--implementation", "cp", "--python-version", "3.13"),
)

# What is made at one moment, so that neither clocks nor checkouts show in the result: 1980 is the first year of zip.
MADE_AT = 315_532_800
KEPT_BUILDS = 4
LEFT_OUT = ("__pycache__", "*.pyc", "*.pyo", ".mypy_cache", ".ruff_cache")


@dataclass(frozen=True, slots=True)
class Wheels:
    """What decides a folder of third-party packages: the hashed requirements, and pip's options for the platform."""

    requirements: Path
    platform: tuple[str, ...] = LAMBDA_PLATFORM


def runtime_layer(build: Path = BUILD) -> Path:
    """The layer with our own `runtime` package, at the place where Lambda puts layers of Python on the path."""
    return _package_folder("runtime", at="python/runtime", build=build)


def handlers_code(build: Path = BUILD) -> Path:
    """The functions' own code: the `handlers` package and nothing else."""
    return _package_folder("handlers", at="handlers", build=build)


def third_party_layer(wheels: Wheels, build: Path = BUILD) -> Path:
    """The layer with the packages that `runtime` needs, for Lambda's platform unless `wheels` names another.

    Exactly the files whose hashes the requirements name, wheels only: nothing is compiled on this machine.

    Raises:
        RuntimeError: pip could not resolve or download; its own words are in the message.
    """
    key = _hash([wheels.requirements.read_bytes(), *(option.encode() for option in wheels.platform)])
    return _made("third-party", key, lambda folder: _install(wheels, folder / "python"), build)


def _package_folder(package: str, *, at: str, build: Path) -> Path:
    # Read once: what is hashed is what is written, also while somebody edits the sources.
    files = dict(_sources(PROJECT / package))
    parts = [part for name, content in files.items() for part in (str(name).encode(), content)]
    return _made(package, _hash([at.encode(), *parts]), lambda folder: _write(files, folder / at), build)


def _sources(package: Path) -> Iterator[tuple[Path, bytes]]:
    """The files of a package below its folder, without what Python and its tools leave there."""
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package)
        if path.is_file() and not any(fnmatch(part, pattern) for part in name.parts for pattern in LEFT_OUT):
            yield name, path.read_bytes()


def _write(files: Mapping[Path, bytes], target: Path) -> None:
    for name, content in files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _install(wheels: Wheels, target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    command += ["--only-binary=:all:", "--no-compile", *wheels.platform]
    command += ["--target", str(target), "--requirement", str(wheels.requirements)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own interpreter and files
    if done.returncode != 0:
        raise RuntimeError(f"pip could not install {wheels.requirements}:\n{done.stderr.strip()}")
    shutil.rmtree(target / "bin", ignore_errors=True)  # command line tools: they name this machine's interpreter
    for record in target.glob("*.dist-info/RECORD"):
        record.unlink()  # lists the tools just removed


def _made(name: str, key: str, fill: Callable[[Path], None], build: Path) -> Path:
    """The folder `<name>-<key>`, filled once. It appears complete or not at all, whoever else is making it."""
    folder = build / f"{name}-{key}"
    if folder.is_dir():
        return folder
    build.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=build))
    try:
        fill(making)
        _settle(making)
        _publish(making, folder)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    _forget_old(name, folder, build)
    return folder


def _publish(making: Path, folder: Path) -> None:
    try:
        making.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
        # Another synth finished the same folder first; the same key means the same content.


def _settle(folder: Path) -> None:
    """Give every file the same time and mode, whatever this machine's umask and clock are."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
        os.utime(path, (MADE_AT, MADE_AT))


def _forget_old(name: str, newest: Path, build: Path) -> None:
    others = [path for path in build.glob(f"{name}-*") if path != newest]
    for path in sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT_BUILDS - 1 :]:
        shutil.rmtree(path, ignore_errors=True)


def _hash(parts: list[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:16]
