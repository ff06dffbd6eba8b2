"""A tool server that does as it is told, in a process of its own; nothing in it knows the runtime.

`ScriptedServer.plan(path, steps)` says how it answers requests to a path: one step for each request, the last one again
and again. `requests(path)` are those it has got. Started by hand: `python -m tests.support.tool_server`.
"""

import json
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.request import Request, urlopen


@dataclass(frozen=True, slots=True)
class Step:
    """`end`: "answer", "reset" or "close" the connection without an answer, or "drip" the answer a byte at a time.

    `calls_back`: the result of the call, which is posted to its callback URL before the request is answered.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""
    delay_s: float = 0
    end: str = "answer"
    calls_back: str = ""


@dataclass(frozen=True, slots=True)
class Got:
    """A request as it came. Header names are in lower case."""

    method: str
    headers: dict[str, str]
    body: str
    client_port: int


@dataclass(frozen=True, slots=True)
class ScriptedServer:
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def plan(self, path: str, *steps: Step) -> None:
        self._control("plan", {"path": path, "steps": [asdict(step) for step in steps]})

    def requests(self, path: str) -> list[Got]:
        return [Got(**got) for got in self._control("requests", {"path": path})]

    def _control(self, name: str, given: dict[str, Any]) -> Any:
        request = Request(f"{self.url}/control/{name}", json.dumps(given).encode(), method="POST")  # noqa: S310
        with urlopen(request, timeout=10) as answer:  # noqa: S310 - an address of this machine
            return json.load(answer)


@contextmanager
def scripted_server() -> Iterator[ScriptedServer]:
    command = [sys.executable, "-m", "tests.support.tool_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield ScriptedServer(int(process.stdout.readline()))
        finally:
            process.terminate()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    plans: dict[str, list[Step]] = {}  # noqa: RUF012 - the state of the one server of this process
    got: dict[str, list[Got]] = defaultdict(list)  # noqa: RUF012
    lock = threading.Lock()

    def do_GET(self) -> None:
        self._answer(self._next_step(self._read()))

    def do_POST(self) -> None:
        body = self._read()
        if self.path.startswith("/control/"):
            self._control(json.loads(body))
        else:
            step = self._next_step(body)
            if step.calls_back:
                _call_back(json.loads(body), step.calls_back)
            self._answer(step)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _read(self) -> str:
        return self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()

    def _control(self, given: dict[str, Any]) -> None:
        with self.lock:
            if self.path == "/control/plan":
                self.plans[given["path"]] = [Step(**step) for step in given["steps"]]
                self.got[given["path"]].clear()
                answer: list[dict[str, Any]] = []
            else:
                answer = [asdict(got) for got in self.got[given["path"]]]
        self._answer(Step(body=json.dumps(answer)))

    def _next_step(self, body: str) -> Step:
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.lock:
            self.got[self.path].append(Got(self.command, headers, body, self.client_address[1]))
            steps = self.plans.get(self.path) or [Step(404)]
            return steps.pop(0) if len(steps) > 1 else steps[0]

    def _answer(self, step: Step) -> None:
        time.sleep(step.delay_s)
        if step.end in ("reset", "close"):
            self._leave(step.end)
            return
        self.send_response(step.status)
        for name, value in step.headers.items():
            self.send_header(name, value)
        if "Transfer-Encoding" not in step.headers:
            self.send_header("Content-Length", str(len(step.body.encode())))
        self.end_headers()
        for char in step.body if step.end == "drip" else [step.body]:
            self.wfile.write(char.encode())
            self.wfile.flush()
            if step.end == "drip":
                time.sleep(0.05)

    def _leave(self, how: str) -> None:
        if how == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


def _call_back(call: dict[str, Any], text: str) -> None:
    result = {"type": "tool_result", "group_id": call["group_id"], "id": call["id"], "text": text}
    request = Request(call["callback_url"], json.dumps(result).encode(), method="POST")  # noqa: S310
    request.add_header("Content-Type", "application/json")
    with urlopen(request, timeout=10) as answer:  # noqa: S310 - an address of this machine
        assert answer.status == 200


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that went away is part of the play."""


if __name__ == "__main__":
    with _Server(("127.0.0.1", 0), _Handler) as server:
        sys.stdout.write(f"{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()
