"""Asks a tool server as the runtime does: over HTTP, a connection for each request."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

from handlers.rap_tools import ToolServer


@dataclass(frozen=True, slots=True)
class ToolClient:
    port: int

    def get(self, path: str) -> tuple[int, Any]:
        return self._ask("GET", path)

    def post(self, path: str, body: object, key: str = "") -> tuple[int, Any]:
        text = body if isinstance(body, str) else json.dumps(body)
        return self._ask("POST", path, text, {"Idempotency-Key": key} if key else {})

    def path_of(self, url: str) -> str:
        """Return the path of a URL of this very server."""
        base, path = url[: len(self.base)], url[len(self.base) :]
        assert base == self.base
        return path

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _ask(self, method: str, path: str, body: str = "", headers: dict[str, str] | None = None) -> tuple[int, Any]:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())


@contextmanager
def serving(tools: ToolServer, callback_host: str | None = None) -> Iterator[ToolClient]:
    """Serve in threads of this process, on a free port."""
    with tools.listen(0, callback_host=callback_host) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield ToolClient(server.server_address[1])
        server.shutdown()
