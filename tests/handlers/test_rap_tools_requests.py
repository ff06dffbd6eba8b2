"""What a tool server does with requests that are no calls: notices, and what it refuses."""

import base64
import json
import threading

import pytest

from handlers.rap_tools import Call, ToolServer
from handlers.rap_tools.intake import Intake, Request
from tests.support.callback_inbox import Inbox
from tests.support.tool_client import ToolClient, serving


@pytest.mark.parametrize(
    ("path", "notice", "stops"),
    [
        ("/cancel_tool_call", {"thread_id": "t-1", "tool_call_id": "call_1"}, True),
        ("/cancel_tool_call", {"thread_id": "t-1", "tool_call_id": "call_2"}, False),
        ("/cancel_tool_call", {"thread_id": "t-2", "tool_call_id": "call_1"}, False),
        ("/cancel_tool_call", {"thread_id": "t-1"}, False),
        ("/close_thread", {"thread_id": "t-1"}, True),
        ("/close_thread", {"thread_id": "t-2"}, False),
        ("/close_thread", {}, False),
    ],
)
def test_a_notice_reaches_the_call_it_is_about(
    tools: ToolServer, shop: ToolClient, inbox: Inbox, path: str, notice: dict[str, str], stops: bool
) -> None:
    calls: list[Call] = []
    running = threading.Event()

    @tools.tool()
    def work(call: Call) -> str:
        """Work."""
        calls.append(call)
        running.set()
        return "done" if call.wait(0) else "not wanted"

    shop.post("/call", inbox.invocation("work", {}))
    assert running.wait(10)

    assert shop.post(path, notice) == (202, {"ok": True})
    assert calls[0].stopped.is_set() is stops


def test_a_cancelled_call_says_nothing_more(tools: ToolServer, shop: ToolClient, inbox: Inbox) -> None:
    ended = threading.Event()

    @tools.tool(annotations={"x-on-interrupt": "cancel"})
    def work(call: Call) -> str:
        """Work."""
        call.show("state", "working")
        wanted = call.wait(10)
        ended.set()
        return "done" if wanted else "never heard"

    @tools.tool()
    def after() -> str:
        """Come after it."""
        return "after"

    shop.post("/call", inbox.invocation("work", {}))
    inbox.next()
    shop.post("/cancel_tool_call", {"thread_id": "t-1", "tool_call_id": "call_1"})
    assert ended.wait(5)
    shop.post("/call", inbox.invocation("after", {}))

    assert inbox.next().body["text"] == "after"
    assert inbox.waiting() == []


@pytest.mark.parametrize(
    "url",
    [
        "/cb/token",
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "http://",
        "http://[",
        "http://h:x/",
        "http://h:0/",
        "http://h/ü",
    ],
)
def test_a_callback_url_that_is_none_is_refused(shop: ToolClient, inbox: Inbox, url: str) -> None:
    assert shop.post("/call", inbox.invocation("x", {}, callback_url=url))[0] == 400


@pytest.mark.parametrize("url", ["http://evil.example/cb/t", "http://127.0.0.1:1/cb/t", "https://RIGHT@evil.example/"])
def test_results_go_to_no_other_host_than_the_one_that_was_named(tools: ToolServer, inbox: Inbox, url: str) -> None:
    right = f"127.0.0.1:{inbox.port}"
    call = inbox.invocation("x", {}, callback_url=url.replace("RIGHT", right))
    parts = [*(call[name] for name in ("operation", "id", "group_id", "callback_url", "arguments")), "run"]
    state = base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()

    with serving(tools, callback_host=right) as shop:
        assert shop.post("/call", call)[0] == 403
        assert shop.get(f"/return/{state}")[0] == 403
        assert shop.post("/call", inbox.invocation("x", {}))[0] == 202


@pytest.mark.parametrize("body", ["", "no json", "[]", "{}", '{"arguments":{}}', "[" * 50_000])
def test_what_is_no_call_is_refused_with_a_reason(shop: ToolClient, body: str) -> None:
    status, answer = shop.post("/call", body)

    assert status == 400
    assert answer["error"]


def test_a_key_that_no_header_of_ours_could_carry_is_refused(inbox: Inbox) -> None:
    body = json.dumps(inbox.invocation("x", {})).encode()

    assert Intake(dict, lambda _: None).answer(Request("POST", "/call", {"idempotency-key": "ключ"}, body))[0] == 400


def test_what_is_too_large_is_refused_with_the_limit(shop: ToolClient) -> None:
    assert shop.post("/call", "x" * 1_048_577) == (413, {"error": "the body is larger than 1048576 bytes"})


@pytest.mark.parametrize("path", ["/", "/other", "/return/", "/return/nonsense", "/return/WzFd", "/call/more"])
def test_what_is_not_there_is_not_found(shop: ToolClient, path: str) -> None:
    assert shop.get(path)[0] == shop.post(path, {})[0] == 404


def test_arguments_too_long_for_a_url_are_an_error_the_agent_can_read(
    tools: ToolServer, shop: ToolClient, inbox: Inbox
) -> None:
    @tools.tool()
    def pick(call: Call, sizes: list[str]) -> None:
        """Let the user pick a size."""
        call.ask("Which size?", sizes)

    shop.post("/call", inbox.invocation("pick", {"sizes": ["medium"] * 300}))

    assert "call again with shorter ones" in inbox.next().body["text"]
