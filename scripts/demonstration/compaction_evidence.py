"""What a conversation left behind that was compacted: that of any scenario, and the summaries."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psycopg

from runtime.phrases import SUMMARISE
from scripts.commands.messages import JsonObject
from scripts.demonstration.evidence import Evidence, ModelRequest

INSIDE = "You are now inside the thread that was started"


@dataclass(frozen=True, slots=True)
class StoredSummary:
    """`state` is what was frozen with it when it came into use; None for one that never did."""

    up_to: int
    text: str
    state: str | None


@dataclass(frozen=True, slots=True)
class Compacted:
    """`was_killed`: the writer of the second summary was, before it told anybody."""

    thread_id: str
    evidence: Evidence
    summaries: Sequence[StoredSummary]
    was_killed: bool

    @property
    def summary_requests(self) -> list[ModelRequest]:
        return [request for request in self.evidence.requests if texts_of(request)[-1:] == [SUMMARISE]]

    @property
    def child_requests(self) -> list[ModelRequest]:
        return [request for request in self.evidence.requests if INSIDE in json.dumps(request.messages)]

    @property
    def own_requests(self) -> list[ModelRequest]:
        """What the conversation itself asked the model, refused requests included."""
        others = [*self.summary_requests, *self.child_requests]
        return [request for request in self.evidence.requests if request not in others]


def read_summaries(database_dsn: str, thread_id: str) -> list[StoredSummary]:
    """The summaries that were written for this thread, in order."""
    with psycopg.connect(database_dsn) as connection:
        rows = connection.execute(
            "SELECT up_to, text, state FROM infinity.summaries AS summary"
            " JOIN infinity.threads AS writer ON writer.thread_id = summary.summary_id"
            " WHERE writer.parent_id = %s ORDER BY up_to",
            (thread_id,),
        ).fetchall()
    return [StoredSummary(up_to, text, state) for up_to, text, state in rows]


def texts_of(request: ModelRequest) -> list[str]:
    """The user's plain texts, in order."""
    return [str(block["text"]) for role, block in blocks_of(request) if role == "user" and "text" in block]


def blocks_of(request: ModelRequest) -> Iterator[tuple[str, JsonObject]]:
    """Everything a provider compares with what it has cached, in order, each block with its role."""
    for message in request.messages:
        content = message["content"]
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict) and "cachePoint" not in block:
                yield str(message["role"]), block
