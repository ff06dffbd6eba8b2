"""Tool servers that are functions of this process."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from runtime.errors import HandOverFailed
from runtime.model.toolsets import Invocation, Notice, ToolServer


@dataclass(frozen=True, slots=True)
class MemoryServer:
    """One tool server: its manifest, and what takes its calls.

    `accept` returns at once and answers later. It raises HandOverFailed to refuse a call, and an OSError (TimeoutError
    is one) where a network would leave it open whether the call arrived; it is then called again with the same call.
    """

    manifest_json: str
    accept: Callable[[Invocation], None]
    notice: Callable[[Notice], None] = lambda _: None


class MemoryToolServers:
    """By the configured server's name. Safe to share between threads if the functions are."""

    def __init__(self, servers: Mapping[str, MemoryServer], tries: int = 3) -> None:
        self._servers = servers
        self._tries = tries

    def manifest(self, server: ToolServer) -> str:
        return self._server(server).manifest_json

    def invoke(self, invocation: Invocation, timeout_s: float) -> None:  # noqa: ARG002 - functions do not wait
        server = self._server(invocation.server)
        for _ in range(self._tries):
            try:
                return server.accept(invocation)
            except OSError:
                continue
        raise HandOverFailed("the tool server did not answer; the call may be running all the same")

    def notify(self, notices: Sequence[Notice]) -> int:
        """Threads, as in the other implementation: a function that hangs must not hold up the slice."""
        until = time.monotonic() + 1
        accepted: list[Notice] = []
        threads = [threading.Thread(target=self._notice, args=(one, accepted), daemon=True) for one in notices]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        return len(accepted)

    def _notice(self, notice: Notice, accepted: list[Notice]) -> None:
        try:
            self._server(notice.server).notice(notice)
        except (HandOverFailed, OSError):
            return
        accepted.append(notice)

    def _server(self, server: ToolServer) -> MemoryServer:
        try:
            return self._servers[server.name]
        except KeyError:
            raise HandOverFailed("the tool server could not be found") from None
