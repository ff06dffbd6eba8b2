"""What is changed in the emulator: every invocation is recorded, and none waits for log lines."""

import json
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import psutil
import pytest

from scripts.offline_stack import emulator
from scripts.offline_stack.clock import StackClock
from scripts.offline_stack.supervisor import Piece, Supervisor
from tests.offline_stack.function_code import zipped

if TYPE_CHECKING:
    from types_boto3_lambda import LambdaClient

FUNCTION = """
import os

def handler(event, context):
    if event.get("die"):
        os.kill(os.getpid(), 9)
    if event.get("say"):
        print(event["say"])
    return {"log_level": os.environ.get("LOG_LEVEL")}
"""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("emulator")


@pytest.fixture(scope="module")
def running(logs: Path) -> Iterator[Piece]:
    supervisor = Supervisor()
    try:
        yield emulator.start(supervisor, logs / "tmp", logs / "emulator.log", StackClock(logs / "clock"))
    finally:
        supervisor.stop_children()


@pytest.fixture(scope="module")
def functions(running: Piece) -> "LambdaClient":
    client = boto3.client("lambda", **emulator.client_settings(emulator.endpoint_of(running)))
    client.create_function(
        FunctionName="told",
        Runtime="python3.13",
        Role="arn:aws:iam::000000000000:role/any",
        Handler="told.handler",
        Code={"ZipFile": zipped("told.py", FUNCTION)},
    )
    return client


def invoke(functions: "LambdaClient", **event: object) -> dict[str, Any]:
    response = functions.invoke(FunctionName="told", Payload=json.dumps(event).encode())
    answer: dict[str, Any] = json.loads(response["Payload"].read())
    return answer


def recorded(logs: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (logs / emulator.INVOCATIONS).read_text().splitlines()]


def test_nothing_listens_for_other_machines(running: Piece) -> None:
    with urllib.request.urlopen(f"{emulator.endpoint_of(running)}/_ministack/ready"):  # noqa: S310 - our own
        listening = [
            connection.laddr
            for connection in psutil.Process(running.identity.pid).net_connections()
            if connection.status == psutil.CONN_LISTEN
        ]

    assert listening == [("127.0.0.1", running.port)]


def test_an_invocation_is_recorded_when_it_opens_and_when_it_closes(functions: "LambdaClient", logs: Path) -> None:
    invoke(functions)

    opened, closed = recorded(logs)[-2:]
    assert (opened["what"], closed["what"]) == ("opened", "closed")
    assert opened["request_id"] == closed["request_id"]
    assert (closed["function"], closed["source"], closed["outcome"]) == ("told", "invoke", "ok")
    assert opened["time"] <= closed["time"]


def test_a_call_of_a_function_url_is_recorded_as_such(functions: "LambdaClient", logs: Path) -> None:
    url = functions.create_function_url_config(FunctionName="told", AuthType="NONE")["FunctionUrl"]
    functions.add_permission(
        FunctionName="told",
        StatementId="url",
        Action="lambda:InvokeFunctionUrl",
        Principal="*",
        FunctionUrlAuthType="NONE",
    )
    url_id = url.split("//")[1].split(".")[0]

    with urllib.request.urlopen(f"{functions.meta.endpoint_url}/_aws/lambda-url/{url_id}/any"):  # noqa: S310 - our own
        assert recorded(logs)[-1]["source"] == "url"


def test_a_killed_worker_fails_its_invocation_at_once_and_is_recorded(functions: "LambdaClient", logs: Path) -> None:
    invoke(functions)
    started = time.monotonic()

    answer = invoke(functions, die=True)

    assert "died" in answer["errorMessage"]
    assert time.monotonic() - started < 2
    assert recorded(logs)[-1]["outcome"] == "error"


def test_the_log_level_of_the_emulator_is_not_that_of_the_functions(functions: "LambdaClient") -> None:
    assert invoke(functions) == {"log_level": None}


def test_why_a_function_could_not_start_is_kept(functions: "LambdaClient", logs: Path) -> None:
    functions.create_function(
        FunctionName="broken",
        Runtime="python3.13",
        Role="arn:aws:iam::000000000000:role/any",
        Handler="broken.handler",
        Code={"ZipFile": zipped("broken.py", "raise RuntimeError('broken on purpose')")},
    )

    functions.invoke(FunctionName="broken")

    assert "broken on purpose" in (logs / "functions.log").read_text()
    assert recorded(logs)[-1]["outcome"] == "error"


def test_what_a_function_prints_is_kept(functions: "LambdaClient", logs: Path) -> None:
    invoke(functions, say="a line from inside")
    invoke(functions)

    assert "a line from inside" in (logs / "functions.log").read_text()


def test_a_silent_warm_invocation_does_not_wait_for_log_lines(functions: "LambdaClient") -> None:
    invoke(functions)
    durations = []
    for _ in range(10):
        started = time.monotonic()
        invoke(functions)
        durations.append(time.monotonic() - started)

    assert min(durations) < 0.05  # the emulator's own wait, taken away by us, is 0.05 s
