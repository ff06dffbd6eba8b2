"""The endpoint as a process of its own, as the offline stack runs it, and its log."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ReadTimeoutError

from tests.model_endpoint.support import MODEL_ID, body, serving, text, user, with_tools

_PROJECT = Path(__file__).parents[2]


@pytest.fixture
def own_process(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    log = tmp_path / "model.jsonl"
    command = [sys.executable, "-m", "scripts.offline_stack.model_endpoint", "--port", "0", "--log", str(log)]
    with subprocess.Popen(
        [*command, "--window-tokens", "500"], cwd=_PROJECT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        ready, port = process.stdout.readline().split()
        assert ready == "READY"
        yield int(port), log
        process.terminate()


def lines_of(log: Path, count: int = 1) -> list[dict[str, Any]]:
    """Return the lines of the log once there are as many: a line is written after the answer."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        lines = log.read_text().splitlines() if log.exists() else []
        if len(lines) >= count:
            return [json.loads(line) for line in lines]
        time.sleep(0.01)
    raise AssertionError("the log did not grow")


def test_a_process_says_when_it_is_ready_and_logs_what_it_was_asked(own_process: tuple[int, Path]) -> None:
    port, log = own_process
    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    messages = user(text("hello"))

    list(client.converse_stream(modelId=MODEL_ID, **body(messages))["stream"])  # type: ignore[arg-type]
    with pytest.raises(ClientError, match="Input is too long for requested model"):
        client.converse_stream(modelId=MODEL_ID, **body(user(text("a" * 5_000))))  # type: ignore[arg-type]
    client.close()

    accepted, refused = lines_of(log, 2)
    assert accepted["model_id"] == MODEL_ID
    assert accepted["body"] == body(messages)
    assert accepted["requested_at"] <= accepted["responded_at"] <= time.time()
    assert accepted["decision"] == {
        "why": "text",
        "refused_by": None,
        "text": 'I am a scripted model. You said: "hello".',
        "calls": [],
        "stop": "end_turn",
        "exception": None,
        "message": None,
        "delivered": True,
    }
    assert refused["decision"]["refused_by"] == "input_fits_the_window"
    assert refused["decision"]["exception"] == "ValidationException"


def test_the_log_names_the_calls_that_were_made(tmp_path: Path) -> None:
    log = tmp_path / "model.jsonl"
    with serving(log) as served:
        served.events(with_tools(user(text("build for 5 seconds"))))
        (line,) = lines_of(log)

    assert line["decision"]["calls"] == [{"name": "run_build", "input": '{"seconds": 5}'}]
    assert line["decision"]["stop"] == "tool_use"


def test_the_log_says_when_the_client_hung_up(tmp_path: Path) -> None:
    log = tmp_path / "model.jsonl"
    # The first write after the client is gone still succeeds; the one after it learns of the loss.
    steps = [{"say": "One."}, {"wait": 0.1}, {"say": "Two."}, {"wait": 0.1}, {"say": "Three."}]
    with serving(log) as served:
        stream = served.stream(body(user(text(f"[[script: {json.dumps(steps)}]]"))))
        next(stream)
        stream.close()
        (line,) = lines_of(log)

    assert line["decision"]["delivered"] is False


def test_every_answer_is_delayed_as_long_as_asked() -> None:
    with serving(delay_s=0.3) as served:
        before = time.monotonic()
        served.events(body(user(text("hello"))))

    assert time.monotonic() - before >= 0.3


def test_a_silence_longer_than_the_clients_patience_is_a_timeout_there() -> None:
    with serving() as served:
        impatient = boto3.client(
            "bedrock-runtime",
            endpoint_url=f"http://127.0.0.1:{served.endpoint.server_port}",
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(read_timeout=0.2, retries={"total_max_attempts": 1}),
        )
        with pytest.raises(ReadTimeoutError):
            impatient.converse_stream(
                modelId=MODEL_ID,
                messages=[{"role": "user", "content": [{"text": '[[script: [{"wait": 30}]]]'}]}],
                inferenceConfig={"maxTokens": 10},
            )
        impatient.close()


def test_closing_ends_a_silence_at_once() -> None:
    before = time.monotonic()
    with serving() as served:
        asking = Thread(target=served.said, args=(body(user(text('[[script: [{"wait": 30}, {"say": "x"}]]]'))),))
        asking.start()
        time.sleep(0.1)
        served.endpoint.closing.set()
        asking.join()

    assert time.monotonic() - before < 10


@pytest.mark.parametrize(
    ("path", "headers", "content", "status", "error"),
    [
        ("/model/any.model/invoke", {"Authorization": "x"}, "{}", 404, "UnknownOperationException"),
        ("/model/any.model/converse-stream", {}, "{}", 403, "MissingAuthenticationTokenException"),
        ("/model/any.model/converse-stream", {"Authorization": "x"}, "{", 400, "SerializationException"),
        ("/model/any.model/converse-stream", {"Authorization": "x"}, "[]", 400, "SerializationException"),
    ],
)
def test_what_is_no_conversation_is_answered_with_an_error(
    path: str, headers: dict[str, str], content: str, status: int, error: str
) -> None:
    with serving() as served:
        connection = HTTPConnection("127.0.0.1", served.endpoint.server_port)
        connection.request("POST", path, content, headers)
        response = connection.getresponse()
        response.read()
        connection.close()

    assert response.status == status
    assert response.headers["x-amzn-ErrorType"].split(":")[0] == error


def test_it_listens_on_the_loopback_address_only() -> None:
    with serving() as served:
        assert served.endpoint.server_address[0] == "127.0.0.1"
