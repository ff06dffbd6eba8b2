"""The one version of ministack whose private names the stack relies on, and the checks that say so early."""

import inspect
from collections.abc import Sequence
from importlib.metadata import version

MINISTACK_VERSION = "1.5.33"


def check_version() -> None:
    """Fail at the start, not in the middle of a test, when ministack is not the one that our changes know.

    Raises:
        RuntimeError: another version is installed.
    """
    installed = version("ministack")
    if installed != MINISTACK_VERSION:
        raise RuntimeError(f"the offline stack is made for ministack {MINISTACK_VERSION}, installed is {installed}")


def check_function(owner: object, name: str, parameters: Sequence[str]) -> None:
    """Fail when a private function is missing or takes other arguments than the ones we replace or call it with.

    Raises:
        RuntimeError: naming the function.
    """
    function = getattr(owner, name, None)
    if function is None or list(inspect.signature(function).parameters) != list(parameters):
        place = getattr(owner, "__name__", str(owner))
        raise RuntimeError(f"ministack has changed: {place}.{name}({', '.join(parameters)}) is not there")
