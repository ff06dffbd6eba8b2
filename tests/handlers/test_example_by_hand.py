"""The example tool server in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from handlers.example_tools import tools
from tests.support.callback_inbox import callback_inbox
from tests.support.interrupts import heeding_interrupts
from tests.support.tool_client import ToolClient


@pytest.fixture
def process() -> Iterator[ToolClient]:
    command = [sys.executable, "-m", "handlers.example_toolset", "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("INFINITY_")}
    with subprocess.Popen(
        heeding_interrupts(command),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    ) as running:
        assert running.stdout is not None
        try:
            word, port = running.stdout.readline().split()
            assert word == "READY"
            assert int(port) not in (8000, 8080)  # 0 was asked for, which is any but the usual ones
            yield ToolClient(int(port))
        finally:
            running.send_signal(signal.SIGINT)
        assert running.wait(5) == 0


def test_by_hand_it_is_an_http_server_that_builds_in_threads(process: ToolClient) -> None:
    with callback_inbox() as inbox:
        manifest = process.get("/.well-known/rap-toolset")
        accepted = process.post("/call", inbox.invocation("run_build", {"seconds": 0.3}))
        before = inbox.waiting()

        assert manifest == (200, tools.manifest())
        assert accepted == (202, {"ok": True})
        assert before == []
        assert "tests passed" in inbox.next().body["text"]
