"""A record of every invocation of every function, taken where the emulator hands it to a worker process.

`invocations.jsonl`, two lines each, joined by `request_id`:
    {"time", "what": "opened", "function", "request_id", "source", "message_ids", "groups"}
    {"time", "what": "closed", "function", "request_id", "source", "message_ids", "groups", "duration_s", "cold",
     "outcome": "ok" | "error", "error"?}
`source` says who asked: "sqs", "url" (a function URL), else "invoke". What functions print goes to `functions.log`.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from scripts.offline_stack.journal import Journal

INVOKE_PARAMETERS = ("self", "event", "request_id", "trace_id", "depth", "durable", "invoked_function_arn")

# Workers, events and answers are ministack's own, untyped; hence Any.
Invoke = Callable[..., dict[str, Any]]


def recorded(invoke: Invoke, journal: Journal, functions_log: Path) -> Invoke:
    """Wrap a worker's `invoke` so that it writes both lines, also when it raises."""

    def invoke_and_record(worker: Any, event: Any, request_id: str, **more: Any) -> dict[str, Any]:
        names = {"function": worker.func_name, "request_id": request_id, **describe(event)}
        journal.write("opened", **names)
        started = time.monotonic()
        answer: dict[str, Any] = {"status": "error", "error": "the worker could not be started"}
        try:
            answer = invoke(worker, event, request_id, **more)
        except Exception as error:
            answer["error"] = str(error)
            raise
        finally:
            journal.write("closed", **names, duration_s=round(time.monotonic() - started, 4), **_ending(answer))
            _keep_output(functions_log, names, answer)
        return answer

    return invoke_and_record


def describe(event: object) -> dict[str, object]:
    """Say who asked for an invocation, and for which messages of which groups."""
    if not isinstance(event, Mapping):
        return {"source": "invoke", "message_ids": [], "groups": []}
    records = [record for record in event.get("Records", []) if record.get("eventSource") == "aws:sqs"]
    groups = {record["attributes"]["MessageGroupId"] for record in records if "MessageGroupId" in record["attributes"]}
    source = "sqs" if records else "url" if "requestContext" in event else "invoke"
    return {
        "source": source,
        "message_ids": [record["messageId"] for record in records],
        "groups": sorted(groups),
    }


def _ending(answer: Mapping[str, Any]) -> dict[str, object]:
    ending: dict[str, object] = {"outcome": answer.get("status"), "cold": bool(answer.get("cold_start"))}
    if "error" in answer:
        ending["error"] = answer["error"]
    return ending


def _keep_output(functions_log: Path, names: Mapping[str, object], answer: Mapping[str, Any]) -> None:
    output = "\n".join(part for part in (answer.get("log"), answer.get("trace") or answer.get("error")) if part)
    if output:
        with functions_log.open("a") as log:
            log.write(f"--- {names['function']} {names['request_id']}\n{output}\n")
