"""Processes that die: ports whose n-th call never returns, or is never made."""

from dataclasses import dataclass, fields
from typing import Any, Literal

from runtime.ports import Ports

Side = Literal["before", "after"]
NEVER = -1
# Asking the clock or a keyring changes nothing outside the process: dying there is dying before the next call.
_WITHOUT_EFFECT = ("clock", "keyring")


class ProcessDied(BaseException):
    """No `except Exception` may catch it: nobody catches SIGKILL either."""


@dataclass
class Fate:
    """Counts the calls of all ports of a process; it dies at one of them."""

    dies_at: int = NEVER
    side: Side = "before"
    calls: int = 0

    def call(self, method: Any, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        is_last = self.calls == self.dies_at
        if is_last and self.side == "before":
            raise ProcessDied
        answer = method(*args, **kwargs)
        if is_last:
            raise ProcessDied
        return answer


class _Mortal:
    def __init__(self, port: Any, fate: Fate) -> None:
        self._port = port
        self._fate = fate

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        return lambda *args, **kwargs: self._fate.call(method, *args, **kwargs)


def mortal(ports: Ports, fate: Fate) -> dict[str, Any]:
    """Return the same ports by name, each call of which may be the last of the process."""
    names = [field.name for field in fields(ports) if field.name not in _WITHOUT_EFFECT]
    return {name: _Mortal(getattr(ports, name), fate) for name in names}
