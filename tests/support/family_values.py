"""Short ways to say what a conversation with several threads left behind."""

from collections.abc import Sequence

from scripts.commands.messages import JsonValue
from scripts.commands.outputs import Output
from scripts.demonstration.evidence import StoredCall, StoredEntry
from scripts.demonstration.families import Birth, Member

ROOT = "root"


def entry(position: int, kind: str, text: str = "", **fields: JsonValue) -> StoredEntry:
    return StoredEntry(position, kind, {"text": text, **fields})


def event(position: int, source: str, text: str, **fields: JsonValue) -> StoredEntry:
    return StoredEntry(position, "event", {"source": source, "items": [{"text": text}], **fields})


def output(type_: str, thread_id: str = ROOT, seq: int = 1, **fields: JsonValue) -> Output:
    return Output(f"{thread_id}-{type_}-{seq}", type_, thread_id, ROOT, seq, fields, 1.0)


def member(
    thread_id: str,
    *entries: StoredEntry,
    calls: Sequence[StoredCall] = (),
    kind: str = "spawned",
    parent: str | None = ROOT,
    is_open: bool = True,
) -> Member:
    """A thread all of whose answers were sent."""
    depth = {None: 0, ROOT: 1}.get(parent, 2)
    texts = [
        output("text", thread_id, each.position, text=each.text)
        for each in entries
        if each.kind == "assistant" and each.text
    ]
    return Member(Birth(thread_id, parent, kind, "", is_open), depth, entries, calls, texts)


def root(*entries: StoredEntry, calls: Sequence[StoredCall] = ()) -> Member:
    return member(ROOT, *entries, calls=calls, kind="root", parent=None)
