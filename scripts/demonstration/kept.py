"""What is kept of a thread beside its history, and what was counted of it: the state table and the functions' log."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.commands.messages import JsonValue
from scripts.offline_stack.stack import OfflineStack

FUNCTIONS_LOG = "functions.log"


@dataclass(frozen=True, slots=True)
class Kept:
    """Choices by id, with the index that was taken of each: None where nobody took any. `open_choices` are not closed.

    `views`: the newest content by type.
    """

    taken: Mapping[str, int | None]
    open_choices: frozenset[str]
    views: Mapping[str, JsonValue]


def read_kept(stack: OfflineStack, thread_id: str) -> Kept:
    """Read what the state table has of the thread's choices and views."""
    items = stack.client("dynamodb").query(
        TableName=stack.outputs["StateTableName"],
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": f"thread#{thread_id}"}},
        ConsistentRead=True,
    )["Items"]
    choices = {item["sk"]["S"].removeprefix("choice#"): item for item in items if item["sk"]["S"].startswith("choice#")}
    views = {item["sk"]["S"].removeprefix("view#"): item for item in items if item["sk"]["S"].startswith("view#")}
    return Kept(
        taken={
            name: int(item["answered"]["N"]) if "N" in item.get("answered", {}) else None
            for name, item in choices.items()
        },
        open_choices=frozenset(name for name, item in choices.items() if not item.get("completed", {}).get("BOOL")),
        views={name: json.loads(item["content"]["S"]) for name, item in views.items()},
    )


def read_counted(invocation_log: Path, thread_id: str) -> Counter[str]:
    """What the slices of a thread have counted: drops, repeats, failures. Read from what they print."""
    counted: Counter[str] = Counter()
    for line in _printed(invocation_log.with_name(FUNCTIONS_LOG)):
        if line.get("thread_id") == thread_id and isinstance(line.get("counted"), list):
            counted.update(line["counted"])
    return counted


def _printed(log: Path) -> list[dict[str, Any]]:
    # A line is as open-ended as what was logged; hence Any.
    lines = log.read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith('{"') and line.endswith("}")]
