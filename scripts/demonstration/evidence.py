"""What a scenario left behind: rows in the database, messages on the output queue, logs of functions and of the model.

Nothing here was told to us by the code under test: the rows are read by SQL of our own, invocations are recorded where
the emulator starts them, and requests where the model endpoint receives them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psycopg

from scripts.commands.messages import JsonObject
from scripts.commands.outputs import Output

Part = Literal["slice", "receiver", "timer relay", "tool server"]
FUNCTION_OUTPUTS: Mapping[Part, str] = {
    "slice": "SliceFunctionName",
    "receiver": "ReceiverFunctionName",
    "timer relay": "TimerRelayFunctionName",
    "tool server": "ExampleToolsetFunctionName",
}


@dataclass(frozen=True, slots=True)
class Invocation:
    """One run of a Lambda function, in epoch seconds. `source` is who asked: a queue, a URL or a direct invoke.

    `failed`: the function raised, ran out of time, or its process died. `cold`: its process had to be started for it.
    """

    part: Part
    opened_at: float
    closed_at: float
    source: Literal["sqs", "url", "invoke"]
    failed: bool = False
    cold: bool = False


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request as the model endpoint got it, in epoch seconds. `refused` when it broke a rule of the service."""

    requested_at: float
    responded_at: float
    refused: bool
    messages: Sequence[JsonObject]


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """One row of history. `withheld` is the code of the error for which the model is not shown it."""

    position: int
    kind: str
    body: JsonObject
    withheld: str | None = None

    @property
    def text(self) -> str:
        """All text of the entry: its own, or that of its items."""
        items = self.body.get("items")
        texts = [item.get("text") for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        return "\n".join(str(text) for text in [self.body.get("text"), *texts] if text)


@dataclass(frozen=True, slots=True)
class StoredCall:
    call_id: str
    name: str
    state: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything about one thread, each list in order of time or position."""

    entries: Sequence[StoredEntry]
    calls: Sequence[StoredCall]
    outputs: Sequence[Output]
    invocations: Sequence[Invocation]
    requests: Sequence[ModelRequest]

    def of(self, *parts: Part) -> list[Invocation]:
        return [invocation for invocation in self.invocations if invocation.part in parts]


def read_invocations(log: Path, function_names: Mapping[str, Part], since: float) -> list[Invocation]:
    """The invocations that began after `since` and have ended, in order of their beginning."""
    opened: dict[str, float] = {}
    found: list[Invocation] = []
    for line in json_lines(log):
        if line.get("function") not in function_names or line.get("what") not in ("opened", "closed"):
            continue
        if line["what"] == "opened":
            opened[line["request_id"]] = line["time"]
        elif (began := opened.pop(line["request_id"], 0.0)) >= since:
            part, failed = function_names[line["function"]], line["outcome"] != "ok"
            found.append(Invocation(part, began, line["time"], line["source"], failed, line["cold"]))
    return sorted(found, key=lambda invocation: invocation.opened_at)


def count_running(log: Path) -> int:
    """How many invocations of any function have begun and not ended."""
    return len(running_since(log))


def running_since(log: Path) -> list[float]:
    """When each of the invocations began that have not ended, in epoch seconds of the stack."""
    opened: dict[str, float] = {}
    for line in json_lines(log):
        if line["what"] == "opened":
            opened[line["request_id"]] = line["time"]
        else:
            opened.pop(line["request_id"], None)
    return list(opened.values())


def read_requests(log: Path, since: float) -> list[ModelRequest]:
    """The requests that the model endpoint got after `since`."""
    return [
        ModelRequest(
            requested_at=line["requested_at"],
            responded_at=line["responded_at"],
            refused=line["decision"]["refused_by"] is not None,
            messages=line["body"].get("messages", []),
        )
        for line in json_lines(log)
        if line["requested_at"] >= since
    ]


def read_entries(database_dsn: str, thread_id: str) -> list[StoredEntry]:
    """The thread's history as it is stored, in order."""
    with psycopg.connect(database_dsn) as connection:
        rows = connection.execute(
            "SELECT position, kind, body, withheld FROM infinity.entries WHERE thread_id = %s ORDER BY position",
            (thread_id,),
        )
        return [StoredEntry(position, kind, json.loads(body), withheld) for position, kind, body, withheld in rows]


def read_calls(database_dsn: str, thread_id: str) -> list[StoredCall]:
    """What became of the thread's calls of asynchronous tools, in the order in which they were made."""
    with psycopg.connect(database_dsn) as connection:
        rows = connection.execute(
            "SELECT call_id, name, state FROM infinity.calls WHERE thread_id = %s ORDER BY position", (thread_id,)
        )
        return [StoredCall(call_id, name, state) for call_id, name, state in rows]


def count_wakes(database_dsn: str, thread_id: str) -> int:
    """How many wakes of its own the thread has consumed; one that found nothing to do leaves no trace here."""
    with psycopg.connect(database_dsn) as connection:
        query = "SELECT count(*) FROM infinity.inbox WHERE thread_id = %s AND type = 'wake'"
        counted = connection.execute(query, (thread_id,)).fetchone()
    return int(counted[0]) if counted else 0


def json_lines(log: Path) -> Iterator[dict[str, Any]]:
    # A line is as open-ended as what was logged; hence Any.
    with log.open() as lines:
        for line in lines:
            if line.endswith("\n"):  # the last line may still be in the making
                yield json.loads(line)
