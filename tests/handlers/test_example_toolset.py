"""The example tool server as Lambda calls it."""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from handlers import example_toolset
from handlers.example_tools import Build, Call, ExampleTools, finish_build, send_result
from runtime.model.toolsets import CachedManifest, ToolServer
from runtime.tools.manifest import judge
from runtime.wire.rap import read_callback
from tests.support.tool_server import ScriptedServer, Step, scripted_server

INVOKE_ITSELF = "/2015-03-31/functions/the-toolset/invocations"
REPORT = re.compile(r"build [0-9a-f]{12} finished: \d{3} tests passed")


@pytest.fixture(scope="module")
def runtime() -> Iterator[ScriptedServer]:
    """Stands for the receiver, and for Lambda's own API."""
    with scripted_server() as server:
        yield server


@pytest.fixture(autouse=True)
def accepting(runtime: ScriptedServer) -> None:
    runtime.plan("/cb/token", Step(body='{"ok":true}'))
    runtime.plan(INVOKE_ITSELF, Step(202))


@pytest.fixture
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


def called(body: dict[str, Any] | str, key: str = "", path: str = "/call", **fields: Any) -> int:
    """Call the handler with the event of a Function URL and return the status."""
    text = body if isinstance(body, str) else json.dumps(body)
    event = {
        "rawPath": path,
        "requestContext": {"http": {"method": "POST", "path": path}},
        "headers": {"idempotency-key": key} if key else {},
        "body": text,
        **fields,
    }
    status: int = example_toolset.handler(event, None)["statusCode"]
    return status


def said(runtime: ScriptedServer) -> list[str]:
    """Return the texts of the results that the runtime got, each read as the receiver reads it."""
    results = [read_callback(got.body.encode()) for got in runtime.requests("/cb/token")]
    assert {(result.group_id, result.id) for result in results} <= {("t-1", "call_1")}
    return [str(result.text) for result in results]


@pytest.mark.usefixtures("deployed")
def test_its_manifest_is_one_the_runtime_accepts() -> None:
    event = {"rawPath": "/.well-known/rap-toolset", "requestContext": {"http": {"method": "GET"}}, "headers": {}}
    server = ToolServer("example", "https://abc.lambda-url.eu-west-1.on.aws")

    answer = example_toolset.handler(event, None)

    found = judge(server, CachedManifest("example", answer["body"], 0))
    assert found.faults == ()
    assert found.toolset is not None
    assert found.toolset.endpoint == "https://abc.lambda-url.eu-west-1.on.aws/call"
    assert [tool.spec.name for tool in found.toolset.tools] == ["get_time", "run_build"]


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("arguments", [{"city": "tokyo"}, {"timezone": "Asia/Tokyo"}, {"city": " Tokyo "}])
def test_the_time_is_told_within_the_call(runtime: ScriptedServer, arguments: dict[str, str]) -> None:
    assert called(call_body(runtime, "get_time", arguments)) == 202

    [text] = said(runtime)
    assert re.fullmatch(r"Asia/Tokyo: \w+, \d\d \w+ 20\d\d, \d\d:\d\d:\d\d \(UTC\+0900\)", text)


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("arguments", [{}, {"city": "Atlantis"}, {"city": 7}, {"timezone": "../../etc/passwd"}])
def test_a_place_without_a_time_is_answered_with_what_to_do_instead(
    runtime: ScriptedServer, arguments: dict[str, object]
) -> None:
    assert called(call_body(runtime, "get_time", arguments)) == 202

    [text] = said(runtime)
    assert text.startswith("Error: ")


@pytest.mark.usefixtures("deployed")
def test_a_build_is_acknowledged_at_once_and_goes_on_in_an_invocation_of_its_own(runtime: ScriptedServer) -> None:
    assert called(call_body(runtime, "run_build", {"seconds": 0.1}), "key-1") == 202
    assert said(runtime) == []

    [invoked] = runtime.requests(INVOKE_ITSELF)
    example_toolset.handler(json.loads(invoked.body), None)

    [text] = said(runtime)
    assert invoked.headers["x-amz-invocation-type"] == "Event"
    assert REPORT.fullmatch(text)


@pytest.mark.usefixtures("deployed")
def test_a_build_that_lambda_runs_twice_reports_the_same_twice(runtime: ScriptedServer) -> None:
    called(call_body(runtime, "run_build", {"seconds": 0}))
    [invoked] = runtime.requests(INVOKE_ITSELF)

    for _ in range(2):
        example_toolset.handler(json.loads(invoked.body), None)

    assert len(said(runtime)) == 2
    assert len(set(said(runtime))) == 1


@pytest.mark.usefixtures("deployed")
def test_every_build_has_an_output_of_its_own(runtime: ScriptedServer) -> None:
    for _ in range(2):
        called(call_body(runtime, "run_build", {"seconds": 0}))
    for invoked in runtime.requests(INVOKE_ITSELF):
        example_toolset.handler(json.loads(invoked.body), None)

    assert len(set(said(runtime))) == 2


@pytest.mark.usefixtures("deployed")
def test_a_repeated_call_with_a_known_key_starts_nothing_twice(runtime: ScriptedServer) -> None:
    body = call_body(runtime, "run_build", {"seconds": 0})

    assert [called(body, key) for key in ("key-1", "key-1", "key-2")] == [202, 202, 202]
    assert len(runtime.requests(INVOKE_ITSELF)) == 2


@pytest.mark.usefixtures("deployed")
def test_a_call_that_could_not_be_started_is_taken_when_it_is_repeated(runtime: ScriptedServer) -> None:
    runtime.plan(INVOKE_ITSELF, Step(403), Step(202))
    body = call_body(runtime, "run_build", {"seconds": 0})

    assert [called(body, "key-1"), called(body, "key-1")] == [500, 202]
    assert len(runtime.requests(INVOKE_ITSELF)) == 2


def test_a_repeat_that_arrives_while_the_first_is_being_taken_is_asked_to_come_back() -> None:
    during: list[int] = []

    def start(build: Build) -> None:
        body = json.dumps({"operation": "run_build", "arguments": {"seconds": 0}, **where(build)}).encode()
        during.append(tools.answer("POST", "/call", {"idempotency-key": "k"}, body)[0])

    def where(build: Build) -> dict[str, str]:
        return {"id": build.call.call_id, "group_id": "t-1", "callback_url": "http://127.0.0.1/cb/token"}

    tools = ExampleTools(start, None)
    call = Call("run_build", {}, "call_1", "t-1", "http://127.0.0.1/cb/token")
    body = json.dumps({"operation": "run_build", "arguments": {"seconds": 0}, **where(Build(call, 0, ""))}).encode()

    assert tools.answer("POST", "/call", {"idempotency-key": "k"}, body)[0] == 202
    assert during == [503]


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("seconds", [-1, 241, "5", None])
def test_a_build_of_an_impossible_length_is_an_error_result(runtime: ScriptedServer, seconds: object) -> None:
    assert called(call_body(runtime, "run_build", {"seconds": seconds})) == 202

    [text] = said(runtime)
    assert text.startswith("Error: ")
    assert runtime.requests(INVOKE_ITSELF) == []


@pytest.mark.usefixtures("deployed")
def test_a_tool_it_does_not_have_is_an_error_result(runtime: ScriptedServer) -> None:
    called(call_body(runtime, "fly", {}))

    assert said(runtime)[0].startswith("Error: ")


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("http://evil.example/cb/token", 403),
        ("http://127.0.0.1:1/cb/token", 403),
        ("https://127.0.0.1@evil.example/cb/token", 403),
        ("file:///etc/passwd", 400),
        ("/cb/token", 400),
    ],
)
def test_results_are_sent_to_no_other_host(runtime: ScriptedServer, url: str, status: int) -> None:
    assert called(call_body(runtime, "get_time", {"city": "Tokyo"}, callback_url=url)) == status


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize("body", ["", "no json", "[]", "{}", '{"arguments":{}}', "[" * 50_000, "x" * 1_100_000])
def test_what_is_no_call_is_refused(body: str) -> None:
    assert called(body) in (400, 413)


@pytest.mark.usefixtures("deployed")
def test_a_body_may_come_in_base64(runtime: ScriptedServer) -> None:
    body = base64.b64encode(json.dumps(call_body(runtime, "get_time", {"city": "Tokyo"})).encode()).decode()

    assert called(body, isBase64Encoded=True) == 202
    assert called("§", isBase64Encoded=True) == 400
    assert len(said(runtime)) == 1


@pytest.mark.usefixtures("deployed")
def test_notices_are_accepted_and_other_paths_are_not() -> None:
    assert called({}, path="/cancel_tool_call") == 202
    assert called({}, path="/close_thread") == 202
    assert called({}, path="/other") == 404


def test_a_result_is_sent_again_until_it_is_taken(runtime: ScriptedServer) -> None:
    runtime.plan("/cb/token", Step(500), Step(200))

    send_result(Call("x", {}, "call_1", "t-1", f"{runtime.url}/cb/token"), "done")

    assert said(runtime) == ["done", "done"]


def test_a_result_the_runtime_refuses_is_not_sent_again(runtime: ScriptedServer) -> None:
    runtime.plan("/cb/token", Step(403))

    finish_build(Build(Call("x", {}, "call_1", "t-1", f"{runtime.url}/cb/token"), 0, "done"))

    assert said(runtime) == ["done"]
