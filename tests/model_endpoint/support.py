"""Requests built from small parts, and the endpoint with an unmodified boto3 client in front of it."""

from base64 import b64encode
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from struct import pack
from threading import Thread
from typing import TYPE_CHECKING, Any, cast

import boto3
from botocore.config import Config

from scripts.offline_stack.model_endpoint.document import JsonObject, JsonValue
from scripts.offline_stack.model_endpoint.log import RequestLog
from scripts.offline_stack.model_endpoint.request import ConverseRequest, ModelLimits, read_request
from scripts.offline_stack.model_endpoint.server import ModelEndpoint, Options

if TYPE_CHECKING:
    from types_boto3_bedrock_runtime.client import BedrockRuntimeClient

MODEL_ID = "anthropic.claude-sonnet-4-20250514-v1:0"
CACHE_POINT: JsonObject = {"cachePoint": {"type": "default"}}


def text(content: str) -> JsonObject:
    return {"text": content}


def use(tool_use_id: str, name: str = "get_time", tool_input: JsonValue = None) -> JsonObject:
    return {"toolUse": {"toolUseId": tool_use_id, "name": name, "input": {} if tool_input is None else tool_input}}


def result(tool_use_id: str, *content: JsonObject, status: str = "success") -> JsonObject:
    return {"toolResult": {"toolUseId": tool_use_id, "content": list(content), "status": status}}


def answered(tool_use_id: str, content: str) -> JsonObject:
    return result(tool_use_id, text(content))


def reasoning(content: str, signature: str | None) -> JsonObject:
    signed: JsonObject = {} if signature is None else {"signature": signature}
    return {"reasoningContent": {"reasoningText": {"text": content, **signed}}}


def image(content: bytes, image_format: str = "png") -> JsonObject:
    return {"image": {"format": image_format, "source": {"bytes": b64encode(content).decode()}}}


def png(width: int = 10, height: int = 10) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + pack("!I4sII", 13, b"IHDR", width, height)


def user(*blocks: JsonObject) -> JsonObject:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: JsonObject) -> JsonObject:
    return {"role": "assistant", "content": list(blocks)}


def tool(name: str, **properties: str) -> JsonObject:
    described: JsonObject = {name: {"type": kind} for name, kind in properties.items()}
    return {"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object", "properties": described}}}}


GET_TIME = tool("get_time", city="string")
RUN_BUILD = tool("run_build", seconds="number")
TOOLS: JsonObject = {"toolConfig": {"tools": [GET_TIME, RUN_BUILD]}}
HELLO = user(text("hello"))


def body(*messages: JsonObject, **fields: JsonValue) -> JsonObject:
    """Return a request body that is fine but for what the parts bring in."""
    return {"messages": list(messages), "inferenceConfig": {"maxTokens": 1000}, **fields}


def with_tools(*messages: JsonObject, **fields: JsonValue) -> JsonObject:
    return body(*messages, **TOOLS, **fields)


def read(content: JsonObject, limits: ModelLimits | None = None) -> ConverseRequest:
    return read_request(MODEL_ID, content, limits or ModelLimits())


@dataclass(frozen=True, slots=True)
class Served:
    """A running endpoint and a client that asks once, without retries."""

    endpoint: ModelEndpoint
    client: "BedrockRuntimeClient"

    def stream(self, content: JsonObject, model_id: str = MODEL_ID) -> Generator[dict[str, Any], None, None]:
        """Yield the events as botocore parses them; content holds bytes where the wire holds base64."""
        # The stubs want literal TypedDicts; these bodies are also broken on purpose.
        arguments = cast("dict[str, Any]", content)
        with closing(self.client.converse_stream(modelId=model_id, **arguments)["stream"]) as events:
            for event in events:
                yield cast("dict[str, Any]", event)

    def events(self, content: JsonObject) -> list[dict[str, Any]]:
        return list(self.stream(content))

    def called(self, content: JsonObject) -> list[tuple[str, str]]:
        """Return name and joined arguments of every call in the answer."""
        calls: list[tuple[str, str]] = []
        for event in self.stream(content):
            if "contentBlockStart" in event:
                calls.append((event["contentBlockStart"]["start"]["toolUse"]["name"], ""))
            elif "toolUse" in event.get("contentBlockDelta", {}).get("delta", {}):
                name, arguments = calls[-1]
                calls[-1] = (name, arguments + event["contentBlockDelta"]["delta"]["toolUse"]["input"])
        return calls

    def said(self, content: JsonObject) -> str:
        deltas = [event["contentBlockDelta"]["delta"] for event in self.stream(content) if "contentBlockDelta" in event]
        return "".join(delta.get("text", "") for delta in deltas)


@contextmanager
def serving(log: Path | None = None, delay_s: float = 0) -> Iterator[Served]:
    """Serve on a free port of 127.0.0.1 until the block ends."""
    endpoint = ModelEndpoint(0, Options(log=RequestLog(log), delay_s=delay_s))
    thread = Thread(target=endpoint.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=f"http://127.0.0.1:{endpoint.server_port}",
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}, read_timeout=20),
    )
    try:
        yield Served(endpoint, client)
    finally:
        client.close()
        endpoint.close()
        thread.join()
