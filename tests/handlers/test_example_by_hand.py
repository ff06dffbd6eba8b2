"""The example tool server in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

import pytest

from handlers.example_tools import MANIFEST
from tests.support.tool_server import Step, scripted_server


@dataclass(frozen=True, slots=True)
class Process:
    port: int

    def request(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request(method, path, json.dumps(body))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()


@pytest.fixture
def process() -> Iterator[Process]:
    command = [sys.executable, "-m", "handlers.example_toolset", "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INFINITY_")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as running:
        assert running.stdout is not None
        word, port = running.stdout.readline().split()
        assert word == "READY"
        yield Process(int(port))
        running.send_signal(signal.SIGINT)
        assert running.wait(5) == 0


def test_by_hand_it_is_an_http_server_that_builds_in_threads(process: Process) -> None:
    with scripted_server() as runtime:
        runtime.plan("/cb/token", Step(200))
        call = {"operation": "run_build", "arguments": {"seconds": 0.3}, "id": "call_1", "group_id": "t-1"}
        manifest = process.request("GET", "/.well-known/rap-toolset")
        accepted = process.request("POST", "/call", {**call, "callback_url": f"{runtime.url}/cb/token"})
        before = runtime.requests("/cb/token")
        until = time.monotonic() + 5
        while not runtime.requests("/cb/token") and time.monotonic() < until:
            time.sleep(0.05)

        [got] = runtime.requests("/cb/token")
        assert manifest == (200, MANIFEST)
        assert accepted == (202, {"ok": True})
        assert before == []
        assert "tests passed" in json.loads(got.body)["text"]
