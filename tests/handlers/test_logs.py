"""What the runtime logs in Lambda."""

import io
import json
import logging
from collections.abc import Iterator

import pytest
from aws_lambda_powertools import Logger

from handlers.logs import RUNTIME, write_runtime_logs_through


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    before = list(logging.getLogger(RUNTIME).handlers)
    write_runtime_logs_through(Logger(service="logs-of-a-test", stream=stream))
    yield stream
    runtime = logging.getLogger(RUNTIME)
    runtime.handlers, runtime.propagate = before, True
    runtime.setLevel(logging.NOTSET)


def test_a_line_of_the_runtime_is_json_with_its_fields(written: io.StringIO) -> None:
    logging.getLogger("runtime.group").info("slice finished", extra={"thread_id": "t", "handled": 2})
    (line,) = written.getvalue().splitlines()
    expected = {
        "message": "slice finished",
        "thread_id": "t",
        "handled": 2,
        "level": "INFO",
        "service": "logs-of-a-test",
    }
    assert expected.items() <= json.loads(line).items()
