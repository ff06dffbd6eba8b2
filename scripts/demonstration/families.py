"""A conversation with all its threads, as it was left: what each of them said, was told, and has come to."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import psycopg

from scripts.commands.outputs import Output
from scripts.demonstration.evidence import StoredCall, StoredEntry, read_calls, read_entries


@dataclass(frozen=True, slots=True)
class Birth:
    """How a thread began. `call_id`: the call of its parent's that it is spoken of under; empty for a root."""

    thread_id: str
    parent_id: str | None
    kind: str
    call_id: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class Member:
    """One thread. `outputs` as a reader sees them, in the order of their `seq`; `depth` is 0 for the root."""

    birth: Birth
    depth: int
    entries: Sequence[StoredEntry]
    calls: Sequence[StoredCall]
    outputs: Sequence[Output]

    @property
    def thread_id(self) -> str:
        return self.birth.thread_id

    @property
    def answers(self) -> list[str]:
        return [entry.text for entry in self.entries if entry.kind == "assistant" and entry.text]

    @property
    def texts(self) -> list[str]:
        return [output.text_of("text") for output in self.outputs if output.type == "text"]

    def events_from(self, source: str) -> list[StoredEntry]:
        """What arrived by itself: "subscription", "report", "parent_message", "bounce", "late_result"."""
        return [entry for entry in self.entries if entry.kind == "event" and entry.body.get("source") == source]

    def words_to_parent(self) -> list[str]:
        """The names of the messages by which the parent must have been told something, in the order of history."""
        return [name for entry in self.entries for name in self._word_of(entry)]

    def _word_of(self, entry: StoredEntry) -> Iterator[str]:
        deed = entry.body.get("deed")
        deed = deed if isinstance(deed, dict) else {}
        if "report" in deed or entry.body.get("reports"):
            yield f"report:{self.thread_id}:{entry.position}"
        if "last_report" in deed and (deed["last_report"] or self.birth.kind != "event"):
            yield f"closed:{self.thread_id}"


@dataclass(frozen=True, slots=True)
class Family:
    """All threads of a conversation, parents before their children, children in the order in which they began."""

    members: Sequence[Member]

    @property
    def root(self) -> Member:
        return self.members[0]

    def children_of(self, parent: Member, kind: str = "spawned") -> list[Member]:
        return [each for each in self.members if each.birth.parent_id == parent.thread_id and each.birth.kind == kind]

    def heard_from(self, child: Member) -> list[str]:
        """The names of the child's messages in its parent's history, in order."""
        parent = next(each for each in self.members if each.thread_id == child.birth.parent_id)
        causes = [str(entry.body.get("cause")) for entry in parent.events_from("report")]
        return [cause for cause in causes if cause.split(":")[1] == child.thread_id]


def read_family(database_dsn: str, root_id: str, outputs: Sequence[Output]) -> Family:
    """Read every thread of the conversation. `outputs` are all that were read of it; known ids are dropped."""
    births = _births(database_dsn, root_id)
    known = {output.id: output for output in reversed(outputs)}
    return Family([_member(database_dsn, birth, depth, known.values()) for birth, depth in _in_order(births)])


def _births(database_dsn: str, root_id: str) -> list[Birth]:
    """In the order in which they began; threads of one commit are those of events, in the order of their events."""
    with psycopg.connect(database_dsn) as connection:
        rows = connection.execute(
            "SELECT thread_id, parent_id, threads.kind, birth, is_open, min(created_ms),"
            " min(CASE WHEN entries.kind = 'event' THEN body END)"
            " FROM infinity.threads JOIN infinity.entries USING (thread_id) WHERE root_id = %s GROUP BY 1, 2, 3, 4, 5",
            (root_id,),
        )
        found = sorted(rows, key=lambda row: (row[5], _number_of(row[6]), row[0]))
    return [
        Birth(thread_id, parent_id, kind or "root", json.loads(birth or "{}").get("call_id", ""), is_open)
        for thread_id, parent_id, kind, birth, is_open, *_ in found
    ]


def _number_of(event: str | None) -> int:
    """The number that the example tools give to their events, at the end of what names them."""
    number = str(json.loads(event).get("cause", "")).rpartition("-")[2] if event else ""
    return int(number) if number.isdigit() else 0


def _in_order(births: Sequence[Birth], parent_id: str | None = None, depth: int = 0) -> Iterator[tuple[Birth, int]]:
    for birth in births:
        if birth.parent_id == parent_id:
            yield birth, depth
            yield from _in_order(births, birth.thread_id, depth + 1)


def _member(database_dsn: str, birth: Birth, depth: int, outputs: Iterable[Output]) -> Member:
    own = [output for output in outputs if output.thread_id == birth.thread_id]
    return Member(
        birth,
        depth,
        entries=read_entries(database_dsn, birth.thread_id),
        calls=read_calls(database_dsn, birth.thread_id),
        outputs=sorted(own, key=lambda output: -1 if output.seq is None else output.seq),
    )
