"""A tool author's functions behind a Function URL: what is done before the answer, and what after it."""

import base64
import json
from typing import Any

import pytest

from handlers.rap_tools import Call, Handler, Json, ToolServer
from tests.support.callback_inbox import Inbox

HOST = "abc.lambda-url.eu-west-1.on.aws"


def event(method: str, path: str, body: object = None, key: str = "", **fields: object) -> Json:
    headers = {"host": HOST, "x-forwarded-proto": "https"}
    return {
        "rawPath": path,
        "rawQueryString": "",
        "headers": {**headers, "idempotency-key": key} if key else headers,
        "requestContext": {"http": {"method": method}},
        "body": json.dumps(body),
        **fields,
    }


def status(handler: Handler, sent: Json) -> int:
    answer: dict[str, Any] = handler(sent, None)
    assert answer["headers"] == {"Content-Type": "application/json"}
    json.loads(answer["body"])
    code: int = answer["statusCode"]
    return code


def shop() -> ToolServer:
    tools = ToolServer("Shop")

    @tools.tool()
    def stock_of(article: str) -> str:
        """How many there are."""
        return f"12 of {article}"

    @tools.tool()
    def pick(call: Call) -> None:
        """Let the user pick."""
        call.ask("Which?", ["S", "M"])

    @tools.on_return("pick")
    def picked(call: Call, given: dict[str, object]) -> str:
        return f"{call.id}: {given.get('selected', given.get('size'))}"

    return tools


def slow_shop() -> ToolServer:
    tools = ToolServer("Slow shop")

    @tools.tool(slow=True)
    def order(call: Call, article: str) -> str:
        """Order it."""
        call.show("state", "ordered")
        return f"{article} came"

    return tools


def test_the_manifest_is_there() -> None:
    answer = shop().for_lambda()(event("GET", "/.well-known/rap-toolset"), None)

    assert answer["statusCode"] == 200
    assert json.loads(answer["body"]) == shop().manifest()


def test_a_tools_result_is_sent_before_the_function_answers_and_is_frozen(inbox: Inbox) -> None:
    handler = shop().for_lambda()

    assert status(handler, event("POST", "/call", inbox.invocation("stock_of", {"article": "nail"}))) == 202
    assert [got.body["text"] for got in inbox.waiting()] == ["12 of nail"]


def test_a_slow_tool_goes_on_in_an_invocation_that_outlives_the_request(inbox: Inbox) -> None:
    given: list[Json] = []
    handler = slow_shop().for_lambda(given.append)
    call = event("POST", "/call", inbox.invocation("order", {"article": "nail"}), "key")

    assert [status(handler, call), status(handler, call)] == [202, 202]
    assert inbox.waiting() == []
    [once] = given
    assert handler(json.loads(json.dumps(once)), None) == {}

    assert [got.body.get("text", "the view") for got in inbox.waiting()] == ["the view", "nail came"]


def test_work_that_lambda_does_twice_is_recognised_as_the_same(inbox: Inbox) -> None:
    given: list[Json] = []
    handler = slow_shop().for_lambda(given.append)
    status(handler, event("POST", "/call", inbox.invocation("order", {"article": "nail"})))

    runs = []
    for _ in range(2):
        handler(given[0], None)
        runs.append(inbox.waiting())

    assert runs[0] == runs[1]


def test_a_slow_tool_that_cannot_be_given_on_is_taken_when_it_is_called_again(inbox: Inbox) -> None:
    refusals = [OSError("throttled")]

    def later(_: Json) -> None:
        if refusals:
            raise refusals.pop()

    handler = slow_shop().for_lambda(later)
    call = event("POST", "/call", inbox.invocation("order", {"article": "nail"}), "key")

    assert [status(handler, call), status(handler, call)] == [500, 202]


def test_slow_tools_with_nothing_that_outlives_a_request_are_refused_at_the_first_one() -> None:
    handler = slow_shop().for_lambda()
    with pytest.raises(ValueError, match="slow tools need: order"):
        status(handler, event("GET", "/.well-known/rap-toolset"))


@pytest.mark.parametrize(
    ("method", "given", "said"),
    [
        ("POST", {"body": '{"id": "call_1", "selected": 1}'}, "call_1: 1"),
        ("GET", {"body": None, "rawQueryString": "size=M&more=x"}, "call_1: M"),
    ],
)
def test_another_environment_continues_what_one_began(
    inbox: Inbox, method: str, given: dict[str, object], said: str
) -> None:
    status(shop().for_lambda(), event("POST", "/call", inbox.invocation("pick", {}), "key"))
    url = inbox.next().body["response_url"]
    assert url.startswith(f"https://{HOST}/return/")

    path = url.removeprefix(f"https://{HOST}")
    assert status(shop().for_lambda(), {**event(method, path), **given}) == 202

    assert inbox.next().body["text"] == said


def test_a_body_may_come_in_base64(inbox: Inbox) -> None:
    handler = shop().for_lambda()
    body = base64.b64encode(json.dumps(inbox.invocation("stock_of", {"article": "nail"})).encode()).decode()

    assert status(handler, event("POST", "/call", isBase64Encoded=True) | {"body": body}) == 202
    assert status(handler, event("POST", "/call", isBase64Encoded=True) | {"body": "§"}) == 400
    assert inbox.next().body["text"] == "12 of nail"


def test_results_go_to_no_other_host_than_the_one_that_was_named(inbox: Inbox) -> None:
    handler = shop().for_lambda(callback_host="receiver.example")

    assert status(handler, event("POST", "/call", inbox.invocation("stock_of", {"article": "nail"}))) == 403


def test_notices_are_acknowledged() -> None:
    handler = shop().for_lambda()

    assert status(handler, event("POST", "/cancel_tool_call", {"thread_id": "t-1", "tool_call_id": "call_1"})) == 202
    assert status(handler, event("POST", "/close_thread", {"thread_id": "t-1"})) == 202
