"""A tool server that was written from the protocol alone works as it is, careless where that is allowed."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scripts.commands.messages import TextMessage
from scripts.commands.target import offline_target
from scripts.demonstration.scripting import calls, says, scripted
from scripts.offline_stack.stack import OfflineStack
from tests.offline.attached import attached
from tests.offline.outside import Outside, texts_said

SERVER = Path(__file__).with_name("foreign_server.py")


@dataclass(frozen=True)
class Foreign:
    """Three conversations with a foreign server, as they ended, and what reached it."""

    outside: Outside
    log: Path

    def kinds(self, name: str) -> list[str]:
        return [entry.kind for entry in self.outside.history(self.thread_id(name))]

    def texts(self, name: str) -> str:
        return json.dumps([entry.body for entry in self.outside.history(self.thread_id(name))])

    def thread_id(self, name: str) -> str:
        return f"{self.outside.run}-{name}"

    def requests(self, name: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        thread_id = self.thread_id(name)
        return [line for line in lines if thread_id in (line["body"].get("group_id"), line["body"].get("thread_id"))]


@pytest.fixture(scope="module")
def foreign(stack: OfflineStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Foreign]:
    log = tmp_path_factory.mktemp("foreign") / "requests.jsonl"
    with subprocess.Popen([sys.executable, "-I", SERVER, log], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
            told = Foreign(Outside(stack, offline_target(stack)), log)
            with attached(stack, url, ["foreign"]):
                _talk(told)
                yield told
        finally:
            server.kill()


def _talk(told: Foreign) -> None:
    said = {
        "measured": scripted("How warm is it?", calls("measure"), says("It is 21.")),
        "listened": scripted("Listen.", calls("listen"), says("I listen."), says("A knock."), says("It is over.")),
        "held": scripted("Hold on.", calls("hold")),
    }
    for name, text in said.items():
        told.outside.send(told.thread_id(name), TextMessage(told.thread_id(name), text).body)
    _wait_until(lambda: told.kinds("held")[-1:] == ["tool_call"])
    told.outside.send(told.thread_id("held"), TextMessage(told.thread_id("held"), "Stop that.").body)
    _wait_until(lambda: told.kinds("measured").count("assistant") == 1 and told.kinds("listened").count("event") == 2)
    told.outside.settle()


def _wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.1)


PATIENCE_S = 60.0


def test_its_result_arrives_once_though_it_was_sent_twice(foreign: Foreign) -> None:
    assert foreign.kinds("measured") == ["user", "tool_call", "tool_result", "assistant"]
    assert "21 degrees" in foreign.texts("measured")


def test_its_subscription_is_confirmed_and_each_event_arrives_once_in_order(foreign: Foreign) -> None:
    texts = foreign.texts("listened")
    assert foreign.kinds("listened").count("event") == 2
    assert texts.index("a knock") < texts.index("silence")


def test_it_is_told_that_a_call_was_cancelled_and_what_it_answers_to_that_harms_nobody(foreign: Foreign) -> None:
    paths = [request["path"] for request in foreign.requests("held")]
    assert paths == ["/foreign/go", "/foreign/cancel_tool_call"]
    assert foreign.kinds("held") == ["user", "tool_call", "tool_result", "user", "assistant"]


def test_every_call_reached_it_once_under_a_key_of_its_own(foreign: Foreign) -> None:
    calls_made = [request for name in ("measured", "listened", "held") for request in foreign.requests(name)[:1]]
    assert len({request["key"] for request in calls_made}) == 3
    assert all(request["body"]["operation"] for request in calls_made)


def test_everybody_was_answered(foreign: Foreign) -> None:
    outputs = foreign.outside.outputs()
    last = {name: texts_said(outputs[foreign.thread_id(name)])[-1] for name in ("measured", "held")}
    assert last["measured"] == "It is 21."
    assert "This call was cancelled" in last["held"]
