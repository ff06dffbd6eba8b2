"""What becomes of a tool's results while the runtime is away or refuses them."""

import json

import pytest

from handlers.rap_tools import Call, NotTaken, ToolServer
from handlers.rap_tools.intake import KNOWN_CALLS, Intake, Request
from tests.support.callback_inbox import Inbox
from tests.support.tool_client import ToolClient


def call_to(inbox: Inbox, tries: int) -> Call:
    """Return a call whose results are tried so often, at once."""
    call = Call(inbox.invocation("x", {}), "http://127.0.0.1", "run")
    call.pauses_s = [0] * (tries - 1)
    return call


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503])
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


def test_a_thread_tries_for_a_day_to_send_what_a_call_accepted_long_ago_has_come_to(
    tools: ToolServer, shop: ToolClient, inbox: Inbox
) -> None:
    @tools.tool()
    def patience(call: Call) -> str:
        """Say how long is tried."""
        return f"{sum(call.pauses_s) / 3_600:.0f} h"

    shop.post("/call", inbox.invocation("patience", {}))

    assert inbox.next().body["text"] == "24 h"


def test_what_other_processes_send_for_a_call_repeats_nothing_that_was_sent_before(inbox: Inbox) -> None:
    call = call_to(inbox, tries=1)
    call.fire("first")
    for text in ("second", "third"):
        Call(**call.as_json()).fire(text)

    assert len({got.key for got in inbox.waiting()}) == 3


def test_who_goes_on_with_a_call_a_second_time_sends_the_same(inbox: Inbox) -> None:
    handed_on = call_to(inbox, tries=1).as_json()
    for _ in range(2):
        Call(**handed_on).fire("news")

    first, second = inbox.waiting()
    assert first == second


@pytest.mark.parametrize("event_id", ["invoice №5", "two\nlines", "x ", "\ud800", "long" * 3_000])
def test_an_event_may_have_any_id_and_keeps_it(inbox: Inbox, event_id: str) -> None:
    call_to(inbox, tries=1).fire("news", event_id)
    call_to(inbox, tries=1).fire("news", event_id)
    call_to(inbox, tries=1).fire("other news", "x")

    first, again, other = inbox.waiting()
    assert first == again
    assert first.body["event_id"] == event_id
    assert other.key != first.key


@pytest.mark.parametrize("status", [301, 401, 403, 404, 410])
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
