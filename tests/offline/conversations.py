"""Several conversations side by side on one stack, and everything about each of them once all are over."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg

from scripts.commands.messages import JsonObject
from scripts.commands.outputs import Output
from scripts.commands.target import Target, offline_target
from scripts.demonstration.crash_evidence import Run
from scripts.demonstration.evidence import Evidence, StoredCall, StoredEntry, read_calls, read_entries
from scripts.offline_stack.stack import OfflineStack
from scripts.storming.account import take_outputs, wait_until_handled
from scripts.storming.aftermath import as_readers_see_them

PATIENCE_S = 60.0
PAUSE_S = 0.1
# What a slice says about a thread when it is over, one way or another.
TOLD = ("slice starts again", "slice finished", "messages come back later", "slice failed unexpectedly")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One invocation of the slice function with messages of a thread."""

    opened_at: float
    closed_at: float
    message_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """What one thread left behind. `requests` are lines of the model's log, `outputs` are as a reader sees them.

    `logged` is what the slice function said about it, in order of time: each message, and the stable words behind it.
    """

    thread_id: str
    entries: Sequence[StoredEntry]
    calls: Sequence[StoredCall]
    outputs: Sequence[Output]
    requests: Sequence[Mapping[str, Any]]
    attempts: Sequence[Attempt]
    logged: Sequence[str]

    def attempts_with(self, message_id: str) -> list[Attempt]:
        return [attempt for attempt in self.attempts if message_id in attempt.message_ids]

    def outputs_of(self, output_type: str) -> list[Output]:
        return [output for output in self.outputs if output.type == output_type]

    def answers(self) -> list[str]:
        return [entry.text for entry in self.entries if entry.kind == "assistant"]

    @property
    def run(self) -> Run:
        """For the comparisons of the crash scenario; the thread's name, which its texts may hold, is taken out."""
        entries = [replace(entry, body=self._without_name(entry.body)) for entry in self.entries]
        outputs = [replace(output, fields=self._without_name(output.fields)) for output in self.outputs]
        return Run(self.thread_id, 0, Evidence(entries, self.calls, outputs, (), ()), ())

    def _without_name(self, fields: JsonObject) -> JsonObject:
        nameless: JsonObject = json.loads(json.dumps(fields).replace(self.thread_id, "(this thread)"))
        return nameless


def wait_for_answers(stack: OfflineStack, answers: Mapping[str, int]) -> None:
    """Return when every thread has so many answers stored and nothing is on its way, or when patience ends."""
    deadline = time.monotonic() + PATIENCE_S
    with psycopg.connect(stack.database_dsn, autocommit=True) as connection:
        while time.monotonic() < deadline and not _all_answered(connection, answers):
            time.sleep(PAUSE_S)
    wait_until_handled(stack, offline_target(stack), PATIENCE_S)


def _all_answered(connection: "psycopg.Connection[Any]", answers: Mapping[str, int]) -> bool:
    rows = connection.execute(
        "SELECT thread_id, count(*) FROM infinity.entries WHERE kind = 'assistant' AND thread_id = ANY(%s) GROUP BY 1",
        (list(answers),),
    )
    found = dict(rows.fetchall())
    return all(found.get(thread_id, 0) >= number for thread_id, number in answers.items())


def gather(stack: OfflineStack, target: Target, thread_ids: Sequence[str]) -> dict[str, Conversation]:
    """Everything about these threads. All outputs that are on the queue are taken off it."""
    outputs = as_readers_see_them(take_outputs(target.sqs, target.output_queue_url))
    attempts = list(_attempts(stack))
    requests = list(json_lines(stack.model_log_path))
    logged = list(function_log(stack))
    return {
        thread_id: Conversation(
            thread_id=thread_id,
            entries=read_entries(stack.database_dsn, thread_id),
            calls=read_calls(stack.database_dsn, thread_id),
            outputs=outputs.get(thread_id, []),
            requests=[line for line in requests if thread_id in json.dumps(line["body"])],
            attempts=[attempt for groups, attempt in attempts if thread_id in groups],
            logged=[_note(line) for line in logged if line.get("thread_id") == thread_id and line["message"] in TOLD],
        )
        for thread_id in thread_ids
    }


def _attempts(stack: OfflineStack) -> list[tuple[Sequence[str], Attempt]]:
    """With the threads of each, in the order in which they began; those that have ended."""
    opened: dict[str, float] = {}
    found = []
    for line in json_lines(stack.invocation_log_path):
        if line["source"] == "sqs" and line["function"] == stack.outputs["SliceFunctionName"]:
            if line["what"] == "opened":
                opened[line["request_id"]] = line["time"]
            else:
                attempt = Attempt(opened[line["request_id"]], line["time"], line["message_ids"])
                found.append((line["groups"], attempt))
    return sorted(found, key=lambda each: each[1].opened_at)


def function_log(stack: OfflineStack) -> list[dict[str, Any]]:
    """What the functions logged, in order of time. A line may stand under a later invocation of the same process."""
    printed = stack.invocation_log_path.with_name("functions.log").read_text().splitlines()
    lines = [json.loads(line) for line in printed if line.startswith("{")]
    return sorted((line for line in lines if "message" in line), key=lambda line: str(line["timestamp"]))


def _note(line: Mapping[str, Any]) -> str:
    return " ".join([line["message"], *([line["code"]] if "code" in line else line.get("counted", []))])


def json_lines(log: Path) -> Iterator[dict[str, Any]]:
    """Every line that is complete, none where nothing was logged yet. They are as open-ended as that, hence Any."""
    for line in log.read_text().splitlines(keepends=True) if log.exists() else ():
        if line.endswith("\n"):
            yield json.loads(line)
