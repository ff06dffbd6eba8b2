"""Which step of a slice an HTTP request stands for, read from the request alone.

Steps are named as in the flow of a slice: read receipts, load, complete, commit, send outputs, call tool, start
timer, write receipts. What is none of them keeps the name of its operation.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from scripts.offline_stack.interposers.interventions import Exchange

MODEL_PATH_END = "/converse-stream"
DISCOVERY_PATH = "/.well-known/rap-toolset"
RETURN_PATH = "/return/"  # where the example tool server is told what its user chose
THREAD_KEY = "thread#"


def describe(path: str, headers: Mapping[str, str], body: bytes) -> Exchange:
    """Name the request. Header names are in lower case."""
    if path.endswith(MODEL_PATH_END):
        return Exchange("complete", body=body)
    if path.endswith(DISCOVERY_PATH):
        return Exchange("fetch manifest")
    fields = _json_object(body)
    _, _, operation = headers.get("x-amz-target", "").partition(".")
    if operation in ("SendMessage", "SendMessageBatch"):
        return _sending(fields)
    if operation:
        return _storing(operation, fields)
    if "operation" in fields:
        facts = {"key": headers.get("idempotency-key", ""), "call_id": str(fields.get("id"))}
        return Exchange("call tool", (str(fields.get("group_id")),), facts)
    if RETURN_PATH in path:
        return Exchange(
            "tell choice", facts={"key": headers.get("idempotency-key", ""), "call_id": str(fields.get("id"))}
        )
    return Exchange(path.rpartition("/")[2] or "/")


def _sending(fields: Mapping[str, Any]) -> Exchange:
    entries = fields.get("Entries", [fields])
    threads = tuple(sorted({entry["MessageGroupId"] for entry in entries if "MessageGroupId" in entry}))
    bodies = [_json_object(entry["MessageBody"].encode()) for entry in entries]
    if all("root_thread_id" in body for body in bodies):
        return Exchange("send outputs", threads, {"outputs": {body["id"]: _fingerprint(body) for body in bodies}})
    if all("due_ms" in body for body in bodies):
        return Exchange("start timer", tuple(sorted({str(body.get("group_id")) for body in bodies})))
    return Exchange("send messages", threads)


def _storing(operation: str, fields: Mapping[str, Any]) -> Exchange:
    keys = [key["pk"]["S"] for key in _keys(fields)]
    threads = tuple(sorted({key.removeprefix(THREAD_KEY) for key in keys if key.startswith(THREAD_KEY)}))
    match operation:
        case "BatchGetItem":
            return Exchange("read receipts", threads)
        case "BatchWriteItem" if threads:
            return Exchange("write receipts", threads)
        case "BatchWriteItem":
            return Exchange("keep manifests")
        case "Query":
            return Exchange("read manifests")
        case "PutItem":
            return Exchange("mark", threads, {"subject": fields.get("Item", {}).get("subject", {}).get("S", "")})
        case "UpdateItem":
            return Exchange("close choice", threads)
        case "DeleteItem":
            return Exchange("clear mark", threads)
        case other:
            return Exchange(other)


def _keys(fields: Any) -> Iterator[Mapping[str, Any]]:
    """Every key or item of a DynamoDB request, however deep; the request's shape differs by operation, hence Any."""
    if isinstance(fields, dict):
        if "pk" in fields:
            yield fields
        for value in fields.values():
            yield from _keys(value)
    elif isinstance(fields, list):
        for value in fields:
            yield from _keys(value)


def _fingerprint(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]


def _json_object(body: bytes) -> Mapping[str, Any]:
    # As open-ended as what services take; hence Any.
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
