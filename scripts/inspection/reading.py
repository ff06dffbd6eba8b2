"""Reads threads from the database: whatever is asked comes from one snapshot, and as much of it as was asked for."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runtime.adapters.aws.dsql_connection import Statement
from runtime.adapters.aws.dsql_endpoint import Row
from runtime.adapters.aws.dsql_rows import read_call, read_entry, read_summary, read_thread
from runtime.errors import Misconfigured
from runtime.model.calls import ASKING_STATES, LIVE_STATES, Call, CallState
from runtime.model.entries import AssistantText, Entry, UserText
from runtime.model.threads import Summary, ThreadRow
from scripts.inspection.deployment import Deployment
from scripts.inspection.statements import Statements, for_schema

# A call in one of these may still be heard of.
_OPEN_STATES = sorted(LIVE_STATES | ASKING_STATES)


@dataclass(frozen=True, slots=True)
class Consumed:
    """An inbox row: the commit to this version took this message in."""

    version: int
    type: str
    message_id: str


@dataclass(frozen=True, slots=True)
class StoredThread:
    """Rows of one thread: the newest entries, the newest calls and all that may still be heard of.

    `first_ms` is when its first entry was made. `completions` are all own entries that the model made as calls and
    texts, `consumed` those of the newest versions.
    """

    row: ThreadRow
    closed_by: str | None
    first_ms: int | None
    entries: tuple[Entry, ...] = ()
    completions: tuple[Entry, ...] = ()
    calls: tuple[Call, ...] = ()
    consumed: tuple[Consumed, ...] = ()
    summary: Summary | None = None

    @property
    def tail(self) -> Entry | None:
        """The last entry of its own."""
        return self.entries[-1] if self.entries else None


@dataclass(frozen=True, slots=True)
class AskingThread:
    """An open thread that nobody has answered: its last entry asks the model, which it may have given up."""

    row: ThreadRow
    kind: str
    since_ms: int


@dataclass(frozen=True, slots=True)
class CallOf:
    thread_id: str
    call: Call


class Reader:
    """Every method is one read-only transaction, and raises the errors of `DsqlConnection.read`."""

    def __init__(self, deployment: Deployment) -> None:
        self._connection = deployment.connection
        self._texts: Statements = for_schema(deployment.schema)

    def ids_below(self, thread_id: str, limit: int) -> list[str]:
        """Return the thread and all below it, at most so many; those that are open first."""
        (found,) = self._connection.read([Statement(self._texts.below, (thread_id, limit))])
        return [thread for (thread,) in found.rows]

    def threads(self, thread_ids: Sequence[str], entries: int) -> list[StoredThread]:
        """Return those of these threads that exist, in this order, with at most so many of their newest entries."""
        ids, texts = list(thread_ids), self._texts
        results = self._connection.read(
            [
                Statement(texts.threads, (ids,)),
                Statement(texts.newest_entries, (entries, ids)),
                Statement(texts.completions, (ids,)),
                Statement(texts.calls, (entries, _OPEN_STATES, ids)),
                Statement(texts.consumed, (entries, ids)),
                Statement(texts.summaries, (ids,)),
            ]
        )
        rows, *parts = (result.rows for result in results)
        by_thread = [_by_thread(part) for part in parts]
        known = {row[0]: row for row in rows}
        return [_stored(known[each], [part[each] for part in by_thread]) for each in ids if each in known]

    def waiting_calls(self, states: Iterable[CallState], limit: int) -> list[CallOf]:
        """Return calls of open threads that are in one of these states, the oldest first."""
        (found,) = self._connection.read([Statement(self._texts.waiting_calls, (sorted(states), limit))])
        return [CallOf(thread_id, read_call(tuple(columns))) for thread_id, *columns in found.rows]

    def asking_threads(self, limit: int) -> list[AskingThread]:
        """Return open threads whose last entry asks the model, also those that gave up on it, the oldest first."""
        (found,) = self._connection.read([Statement(self._texts.asking_threads, (limit,))])
        return [
            AskingThread(_thread_row(tuple(columns)), kind, created_ms) for *columns, kind, created_ms in found.rows
        ]


def _by_thread(rows: Sequence[Row]) -> Mapping[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for thread_id, *columns in rows:
        found[thread_id].append(tuple(columns))
    return found


def _stored(columns: Row, parts: Sequence[Sequence[Row]]) -> StoredThread:
    entries, completions, calls, consumed, summaries = parts
    return StoredThread(
        row=_thread_row(columns[:-1]),
        closed_by=columns[1],
        first_ms=columns[-1],
        entries=tuple(map(_entry, entries)),
        completions=tuple(map(_entry, completions)),
        calls=tuple(map(read_call, calls)),
        consumed=tuple(Consumed(*row) for row in consumed),
        summary=read_summary(summaries[0]) if summaries else None,
    )


def _thread_row(columns: Row) -> ThreadRow:
    thread_id, _closed_by, *rest = columns
    return read_thread(thread_id, [tuple(rest)])


def _entry(row: Row) -> Entry:
    """Read an entry; one that cannot be read must not hide those beside it."""
    try:
        return read_entry(row)
    except Misconfigured as error:
        position, turn, kind, _body, created_ms, withheld = row
        text = f"({error})"
        body = UserText(text) if kind == "user" else AssistantText(text)
        return Entry(position, turn, body, created_ms, withheld)
