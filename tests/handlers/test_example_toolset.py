"""The example tool server as Lambda calls it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from handlers import example_toolset
from runtime.model.toolsets import CachedManifest, ToolServer
from runtime.tools.manifest import judge
from runtime.wire.rap import ResultCallback, read_callback
from tests.support.tool_server import ScriptedServer, Step, scripted_server

INVOKE_ITSELF = "/2015-03-31/functions/the-toolset/invocations"
REPORT = re.compile(r"build [0-9a-f]{12} finished: \d{3} tests passed")
HOST = "abc.lambda-url.eu-west-1.on.aws"


@pytest.fixture(scope="module")
def runtime() -> Iterator[ScriptedServer]:
    """Stands for the receiver, and for Lambda's own API."""
    with scripted_server() as server:
        yield server


@pytest.fixture(autouse=True)
def accepting(runtime: ScriptedServer) -> None:
    runtime.plan("/cb/token", Step(body='{"ok":true}'))
    runtime.plan(INVOKE_ITSELF, Step(202))


@pytest.fixture(autouse=True)
def deployed(runtime: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in {
        "AWS_LAMBDA_FUNCTION_NAME": "the-toolset",
        "AWS_ENDPOINT_URL": runtime.url,
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        example_toolset.ALLOWED_CALLBACK_HOST: f"127.0.0.1:{runtime.port}",
    }.items():
        monkeypatch.setenv(name, value)
    example_toolset._in_lambda.cache_clear()
    yield
    example_toolset._in_lambda.cache_clear()


def call_body(runtime: ScriptedServer, operation: str, arguments: object, **fields: Any) -> dict[str, Any]:
    return {
        "operation": operation,
        "arguments": arguments,
        "id": "call_1",
        "call_id": None,
        "callback_url": f"{runtime.url}/cb/token",
        "group_id": "t-1",
        **fields,
    }


def called(body: object, key: str = "", path: str = "/call") -> int:
    """Call the handler with the event of a Function URL and return the status."""
    event = {
        "rawPath": path,
        "requestContext": {"domainPrefix": "abc", "http": {"method": "POST", "path": path}},
        "headers": {"host": HOST, "x-forwarded-proto": "https"} | ({"idempotency-key": key} if key else {}),
        "body": json.dumps(body),
    }
    status: int = example_toolset.handler(event, None)["statusCode"]
    return status


def go_on(runtime: ScriptedServer) -> None:
    """Do what Lambda does with every asynchronous invocation it was asked for."""
    for invoked in runtime.requests(INVOKE_ITSELF):
        assert example_toolset.handler(json.loads(invoked.body), None) == {}


def sent(runtime: ScriptedServer) -> list[dict[str, Any]]:
    """Return the bodies that the runtime got."""
    return [json.loads(got.body) for got in runtime.requests("/cb/token")]


def said(runtime: ScriptedServer) -> list[str]:
    """Return the texts of the results that the runtime got, each read as the receiver reads it."""
    results = [read_callback(got.body.encode()) for got in runtime.requests("/cb/token")]
    answers = [result for result in results if isinstance(result, ResultCallback)]
    assert len(answers) == len(results)
    assert {(answer.group_id, answer.id) for answer in answers} <= {("t-1", "call_1")}
    return [str(answer.text) for answer in answers]


def test_its_manifest_is_one_the_runtime_accepts() -> None:
    event = {
        "rawPath": "/.well-known/rap-toolset",
        "requestContext": {"domainPrefix": "abc", "http": {"method": "GET"}},
        "headers": {},
    }
    server = ToolServer("example", f"https://{HOST}")

    answer = example_toolset.handler(event, None)

    found = judge(server, CachedManifest("example", answer["body"], 0))
    assert found.faults == ()
    assert found.toolset is not None
    assert found.toolset.endpoint == f"https://{HOST}/call"
    names = [tool.spec.name for tool in found.toolset.tools]
    assert names == ["get_time", "run_build", "watch", "ask", "login", "progress", "picture", "huge"]


@pytest.mark.parametrize("arguments", [{"city": "tokyo"}, {"timezone": "Asia/Tokyo"}, {"city": " Tokyo "}])
def test_the_time_is_told_within_the_call(runtime: ScriptedServer, arguments: dict[str, str]) -> None:
    assert called(call_body(runtime, "get_time", arguments)) == 202

    [text] = said(runtime)
    assert re.fullmatch(r"Asia/Tokyo: \w+, \d\d \w+ 20\d\d, \d\d:\d\d:\d\d \(UTC\+0900\)", text)


@pytest.mark.parametrize("arguments", [{}, {"city": "Atlantis"}, {"city": 7}, {"timezone": "../../etc/passwd"}])
def test_a_place_without_a_time_is_answered_with_what_is_wrong(
    runtime: ScriptedServer, arguments: dict[str, object]
) -> None:
    assert called(call_body(runtime, "get_time", arguments)) == 202

    [text] = said(runtime)
    assert text.startswith("Error: ")


def test_a_build_is_acknowledged_at_once_and_goes_on_in_an_invocation_of_its_own(runtime: ScriptedServer) -> None:
    assert called(call_body(runtime, "run_build", {"seconds": 0.1}), "key-1") == 202
    assert said(runtime) == []

    go_on(runtime)

    [invoked] = runtime.requests(INVOKE_ITSELF)
    [text] = said(runtime)
    assert invoked.headers["x-amz-invocation-type"] == "Event"
    assert REPORT.fullmatch(text)


def test_a_build_that_lambda_runs_twice_reports_the_same_twice(runtime: ScriptedServer) -> None:
    called(call_body(runtime, "run_build", {"seconds": 0}))

    for _ in range(2):
        go_on(runtime)

    assert len(said(runtime)) == 2
    assert len(set(said(runtime))) == 1


def test_every_build_has_an_output_of_its_own(runtime: ScriptedServer) -> None:
    for key in ("key-1", "key-2"):
        called(call_body(runtime, "run_build", {"seconds": 0}), key)
    go_on(runtime)

    assert len(set(said(runtime))) == 2


def test_a_repeated_call_with_a_known_key_starts_nothing_twice(runtime: ScriptedServer) -> None:
    body = call_body(runtime, "run_build", {"seconds": 0})

    assert [called(body, key) for key in ("key-1", "key-1", "key-2")] == [202, 202, 202]
    assert len(runtime.requests(INVOKE_ITSELF)) == 2


def test_a_call_that_could_not_be_started_is_taken_when_it_is_repeated(runtime: ScriptedServer) -> None:
    runtime.plan(INVOKE_ITSELF, Step(403), Step(202))
    body = call_body(runtime, "run_build", {"seconds": 0})

    assert [called(body, "key-1"), called(body, "key-1")] == [500, 202]
    assert len(runtime.requests(INVOKE_ITSELF)) == 2


@pytest.mark.parametrize("seconds", [-1, 241, "5", None])
def test_a_build_of_an_impossible_length_is_an_error_result(runtime: ScriptedServer, seconds: object) -> None:
    assert called(call_body(runtime, "run_build", {"seconds": seconds})) == 202
    go_on(runtime)

    [text] = said(runtime)
    assert text.startswith("Error: ")


def test_events_go_on_in_an_invocation_of_their_own(runtime: ScriptedServer) -> None:
    assert called(call_body(runtime, "watch", {"events": 2, "interval_s": 0})) == 202
    assert sent(runtime) == []
    go_on(runtime)

    assert [body.get("subscription") or body["text"] for body in sent(runtime)] == [
        *(True, "Tick 1 of 2.", "Tick 2 of 2.", "The watch is over.")
    ]


def test_a_choice_is_asked_for_within_the_call_and_comes_back_to_the_functions_own_url(runtime: ScriptedServer) -> None:
    assert called(call_body(runtime, "ask", {"question": "Which?", "choices": ["tea", "coffee"]})) == 202
    [choice] = sent(runtime)
    assert choice["response_url"].startswith(f"https://{HOST}/return/")

    assert called({"id": "call_1", "selected": 1}, path=choice["response_url"].removeprefix(f"https://{HOST}")) == 202
    assert sent(runtime)[1]["text"] == "The user chose: coffee"


def test_where_function_urls_are_paths_of_an_emulator_a_choice_comes_back_there(
    runtime: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(example_toolset.FUNCTION_URL_BASE, "http://127.0.0.1:5497/_aws/lambda-url")

    called(call_body(runtime, "ask", {"question": "Which?", "choices": ["tea", "coffee"]}))

    assert sent(runtime)[0]["response_url"].startswith("http://127.0.0.1:5497/_aws/lambda-url/abc/return/")


def test_a_tool_it_does_not_have_is_an_error_result(runtime: ScriptedServer) -> None:
    called(call_body(runtime, "fly", {}))

    assert said(runtime)[0].startswith("Error: ")


def test_results_are_sent_to_no_other_host(runtime: ScriptedServer) -> None:
    url = "https://127.0.0.1@evil.example/cb/token"

    assert called(call_body(runtime, "get_time", {"city": "Tokyo"}, callback_url=url)) == 403
