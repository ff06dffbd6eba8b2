"""What becomes of a tool's results while the runtime is away or refuses, and of what nobody wants any more."""

import base64
import json
import threading
from collections.abc import Iterator

import pytest

from handlers.rap_tools import Call, NotTaken, ToolServer
from handlers.rap_tools.intake import KNOWN_CALLS, Intake, Request
from tests.support.callback_inbox import Inbox, callback_inbox
from tests.support.tool_client import ToolClient, serving


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    with callback_inbox() as inbox:
        yield inbox


@pytest.fixture
def tools() -> ToolServer:
    return ToolServer("Shop")


@pytest.fixture
def shop(tools: ToolServer) -> Iterator[ToolClient]:
    with serving(tools) as client:
        yield client


def call_to(inbox: Inbox, tries: int) -> Call:
    """Return a call whose results are tried so often, at once."""
    call = Call(inbox.invocation("x", {}), "http://127.0.0.1", "run")
    call.pauses_s = [0] * (tries - 1)
    return call


@pytest.mark.parametrize("status", [500, 502, 503])
def test_what_the_runtime_failed_to_take_is_sent_again_as_the_same(inbox: Inbox, status: int) -> None:
    inbox.answers.extend([(status, ""), (status, "")])

    call_to(inbox, tries=3).fire("news")

    tries = inbox.waiting()
    assert len(tries) == 3
    assert tries == [tries[0]] * 3


def test_a_runtime_that_is_away_is_tried_again_until_the_tries_end(inbox: Inbox) -> None:
    call = call_to(inbox, tries=3)
    call.body["callback_url"] = "http://127.0.0.1:1/cb/token"

    with pytest.raises(NotTaken):
        call.answer("done")


def test_what_was_not_taken_is_sent_once_more_when_asked(inbox: Inbox) -> None:
    inbox.answers.extend([(500, ""), (500, "")])
    call = call_to(inbox, tries=2)
    with pytest.raises(NotTaken):
        call.answer("done")

    call.send_again()
    call.send_again()

    assert [got.body["text"] for got in inbox.waiting()] == ["done"] * 3


@pytest.mark.parametrize("status", [301, 401, 403, 404, 408, 410, 429])
def test_what_the_runtime_refuses_is_sent_once(inbox: Inbox, status: int) -> None:
    inbox.answers.append((status, "no"))

    call_to(inbox, tries=3).answer("done")

    assert len(inbox.waiting()) == 1


@pytest.mark.parametrize("status", [400, 413])
def test_a_result_that_is_refused_for_what_it_is_becomes_one_that_says_so(inbox: Inbox, status: int) -> None:
    inbox.answers.append((status, "at most 4194304 bytes"))

    call_to(inbox, tries=1).answer("x" * 5_000_000, display_as="a long text")

    _, second = inbox.waiting()
    assert second.body == {
        **{"type": "tool_result", "group_id": "t-1", "id": "call_1"},
        "text": "Error: NotAccepted: the runtime refused this tool_result: at most 4194304 bytes",
    }


@pytest.mark.parametrize("kind", ["ask", "login"])
def test_a_runtime_that_does_not_know_a_wish_gets_an_error_result_in_its_place(
    tools: ToolServer, shop: ToolClient, inbox: Inbox, kind: str
) -> None:
    @tools.tool()
    def ask(call: Call) -> None:
        """Ask."""
        call.ask("Which?", ["S"])

    @tools.tool()
    def login(call: Call) -> None:
        """Sign in."""
        call.login("https://login.example/")

    inbox.answers.append((400, "type is unknown"))
    shop.post("/call", inbox.invocation(kind, {}))

    assert inbox.next().body["type"] in ("user_choice", "oauth")
    assert inbox.next().body["text"].endswith(": type is unknown")


def test_a_runtime_that_knows_no_events_gets_no_more_of_them(tools: ToolServer, shop: ToolClient, inbox: Inbox) -> None:
    @tools.tool()
    def follow(call: Call) -> None:
        """Follow prices."""
        call.subscribe("You will be told.")
        call.fire("first")
        call.fire("second")

    inbox.answers.extend([(200, ""), (400, "type is unknown"), (400, "type is unknown")])
    shop.post("/call", inbox.invocation("follow", {}))

    texts = [inbox.next().body["text"] for _ in range(3)]
    assert texts[:2] == ["You will be told.", "first"]
    assert texts[2].startswith("Error: NotAccepted: ")


def test_a_view_that_is_refused_is_no_reason_to_fail(tools: ToolServer, shop: ToolClient, inbox: Inbox) -> None:
    @tools.tool()
    def fill(call: Call) -> str:
        """Fill the basket."""
        call.show("basket", {"articles": 2})
        return "filled"

    inbox.answers.append((400, "type is unknown"))
    shop.post("/call", inbox.invocation("fill", {}))

    assert [inbox.next().body.get("text") for _ in range(2)] == [None, "filled"]


def test_a_repeat_of_a_call_that_could_not_be_answered_sends_its_result_and_runs_nothing(inbox: Inbox) -> None:
    runs: list[Call] = []

    def work(call: Call) -> None:
        runs.append(call)
        call.pauses_s = []
        call.answer("done")

    intake = Intake(dict, work)
    request = Request("POST", "/call", {"idempotency-key": "k"}, json.dumps(inbox.invocation("x", {})).encode())
    inbox.answers.append((500, ""))

    assert [intake.answer(request)[0] for _ in range(3)] == [500, 202, 202]
    assert len(runs) == 1
    assert [got.body["text"] for got in inbox.waiting()] == ["done", "done"]


def test_a_call_that_could_not_be_started_is_taken_when_it_is_repeated(inbox: Inbox) -> None:
    started: list[str] = []

    def start(call: Call) -> None:
        started.append(call.run)
        if len(started) == 1:
            raise RuntimeError("no thread")

    intake = Intake(dict, start)
    request = Request("POST", "/call", {"idempotency-key": "k"}, json.dumps(inbox.invocation("x", {})).encode())

    assert [intake.answer(request)[0] for _ in range(3)] == [500, 202, 202]
    assert started == ["k", "k"]


def test_only_so_many_calls_are_remembered(inbox: Inbox) -> None:
    started: list[str] = []
    intake = Intake(dict, lambda call: started.append(call.run))
    body = json.dumps(inbox.invocation("x", {})).encode()

    for number in [*range(KNOWN_CALLS + 1), KNOWN_CALLS, 0]:
        intake.answer(Request("POST", "/call", {"idempotency-key": str(number)}, body))

    assert len(started) == KNOWN_CALLS + 2
    assert started[-1] == "0"


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
    "url", ["/cb/token", "file:///etc/passwd", "http://", "http://[", "http://h:x/", "http://h:0/", "http://h/ü"]
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
