"""The tool server of the README, as somebody would start and try it."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.support.callback_inbox import callback_inbox
from tests.support.interrupts import heeding_interrupts
from tests.support.tool_client import ToolClient

ROOT = Path(__file__).resolve().parents[2]
PYTHON = (sys.executable, "-S")  # without site-packages: the folder needs none of them
TIME_IN_TOKYO = re.compile(r"\w+day, \d\d \w+ 20\d\d, \d\d:\d\d")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the author's file, and the tools' folder beside it."""
    shutil.copytree(ROOT / "handlers" / "rap_tools", tmp_path / "rap_tools")
    (tmp_path / "my_tools.py").write_text(snippets()[0])
    return tmp_path


def snippets() -> list[str]:
    """The first is a whole file, the second some more tools for it."""
    section = (ROOT / "README.md").read_text().partition("## Attach your own tools")[2]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)[:2]


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[IO[str]]:
    """Start a Python of its own in the folder; yield what it prints."""
    with subprocess.Popen(
        heeding_interrupts([*PYTHON, *arguments]),
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PORT": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as running:
        assert running.stdout is not None
        try:
            yield running.stdout
        finally:
            running.send_signal(signal.SIGINT)
        assert running.wait(5) == 0


def test_it_is_as_short_as_it_looks() -> None:
    assert 10 < len(snippets()[0].splitlines()) <= 20


def test_it_offers_its_tool_and_answers_a_call(folder: Path) -> None:
    with callback_inbox() as inbox, started(folder, "my_tools.py") as printed:
        server = ToolClient(int(printed.readline().removeprefix("READY ")))
        status, manifest = server.get("/.well-known/rap-toolset")
        accepted = server.post("/call", inbox.invocation("get_time", {"timezone": "Asia/Tokyo"}), "key")
        result = inbox.next().body

    assert (status, [tool["name"] for tool in manifest["tools"]]) == (200, ["get_time"])
    assert accepted == (202, {"ok": True})
    assert TIME_IN_TOKYO.fullmatch(result.pop("text"))
    assert result == {"type": "tool_result", "group_id": "t-1", "id": "call_1"}


def test_a_tool_of_it_asks_its_user_and_goes_on_when_that_one_has_chosen(folder: Path) -> None:
    first, further = snippets()
    (folder / "my_tools.py").write_text(first.replace("\n\nhandler =", f"\n\n{further}\n\nhandler ="))
    with callback_inbox() as inbox, started(folder, "my_tools.py") as printed:
        server = ToolClient(int(printed.readline().removeprefix("READY ")))
        server.post("/call", inbox.invocation("order", {"article": "hammer"}), "key")
        asked = inbox.next().body
        server.post(server.path_of(asked["response_url"]), {"id": "call_1", "selected": 0})
        result = inbox.next().body
        server.post("/call", inbox.invocation("watch", {"article": "hammer"}), "another key")
        confirmed = inbox.next().body

    assert (asked["type"], asked["prompt"], asked["choices"]) == ("user_choice", "Order hammer?", ["Yes", "No"])
    assert (result["type"], result["text"]) == ("tool_result", "Ordered.")
    assert (confirmed["text"], confirmed["subscription"]) == ("You will be told.", True)


def test_its_handler_is_one_for_lambda(folder: Path) -> None:
    ask = """
import my_tools
event = {"rawPath": "/.well-known/rap-toolset", "requestContext": {"http": {"method": "GET"}}, "headers": {}}
print(my_tools.handler(event, None)["statusCode"])
"""
    done = subprocess.run([*PYTHON, "-c", ask], cwd=folder, env={}, capture_output=True, text=True, check=True)

    assert done.stdout == "200\n"


def test_what_takes_the_runtimes_place_prints_what_it_is_sent(folder: Path) -> None:
    with started(folder, "-m", "rap_tools", "0") as printed:
        port = int(printed.readline().rpartition(":")[2].rstrip("/\n"))
        assert ToolClient(port).post("/", '{"type": "tool_result"}') == (200, {"ok": True})
        assert printed.readline() == '{"type": "tool_result"}\n'
