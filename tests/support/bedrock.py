"""The Bedrock adapter against the project's model endpoint, which plays the script that a request's text carries."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Any

import boto3

from runtime.adapters.aws.bedrock import BedrockModel, client_config
from runtime.adapters.aws.bedrock_request import BedrockOptions
from runtime.model.turns import ModelMessage, ModelRequest, TextBlock
from scripts.offline_stack.model_endpoint.server import ModelEndpoint, Options

# One step of the endpoint's script language (scripts/offline_stack/model_endpoint/script.py).
ScriptStep = dict[str, Any]


@contextmanager
def serving(options: Options | None = None) -> Iterator[str]:
    """A model endpoint in this process; yields its URL."""
    endpoint = ModelEndpoint(0, options or Options())
    thread = Thread(target=endpoint.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{endpoint.server_port}"
    finally:
        endpoint.close()
        thread.join()


def model_at(url: str, options: BedrockOptions | None = None) -> BedrockModel:
    """The adapter with a client of its own, which signs with keys that open nothing."""
    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=client_config(),
    )
    return BedrockModel(client, options or BedrockOptions("test.model"))


def asking(text: str) -> ModelRequest:
    return ModelRequest("You answer.", (), (ModelMessage("user", (TextBlock(text),)),), max_tokens=1_000)


def request_playing(steps: Sequence[ScriptStep]) -> ModelRequest:
    """A request that the endpoint answers with these steps."""
    return asking(f"Play [[script: {json.dumps(list(steps))}]]")
