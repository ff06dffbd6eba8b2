"""History in Aurora DSQL: one round trip loads a thread, one commits to it.

The fence is the first statement of a commit: it changes the thread's row only where the expected version stands. Every
further statement asks for our commit id in that row, so a lost fence writes nothing without another round trip.
"""

from collections.abc import Iterable, Iterator

from runtime.adapters.aws.dsql_connection import DsqlConnection, Result, Statement
from runtime.adapters.aws.dsql_endpoint import Row
from runtime.adapters.aws.dsql_limits import require_storable
from runtime.adapters.aws.dsql_statements import for_schema
from runtime.adapters.aws.migrations import SCHEMA_VERSION
from runtime.errors import FenceLost, Misconfigured
from runtime.model.calls import LIVE_STATES, Call, CallTarget
from runtime.model.entries import Entry
from runtime.model.messages import MessageKey
from runtime.model.threads import Commit, Person, Thread, ThreadRow, TokensOfDay, Wanted
from runtime.wire.rows import body_json, gave_up_json, object_json, read_body, read_gave_up, read_object

_LIVE = sorted(LIVE_STATES)


class DsqlHistory:
    """The port `History` over one connection; like that, for one worker thread."""

    def __init__(self, connection: DsqlConnection, schema: str) -> None:
        self._connection = connection
        self._statements = for_schema(schema)
        self._schema_is_verified = False

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        """Return one snapshot of the thread, in one round trip.

        All keys are known beforehand for a root thread; a child's inherited entries will need a second one.
        """
        thread, entries, calls, inbox, *schema = self._connection.read(list(self._load(thread_id, wanted)))
        self._verify(schema)
        found = frozenset(MessageKey(*row) for row in inbox.rows)
        return Thread(
            row=_thread_row(thread_id, thread.rows),
            entries=tuple(map(_entry, entries.rows)),
            calls={row[0]: _call(row) for row in calls.rows},
            inbox=found.intersection(wanted.keys),
        )

    def commit(self, commit: Commit) -> None:
        statements = list(self._commit(commit))
        require_storable(commit, statements)
        fence, *_ = self._connection.write(statements)
        if fence.count == 0:
            raise FenceLost("the thread's version is not the expected one")

    def _load(self, thread_id: str, wanted: Wanted) -> Iterator[Statement]:
        yield Statement(self._statements.thread, (thread_id,))
        yield Statement(self._statements.entries, (thread_id,))
        yield Statement(self._statements.calls, (thread_id, _LIVE, thread_id, list(wanted.call_ids), _LIVE))
        types, message_ids = _columns(((key.type, key.message_id) for key in wanted.keys), 2)
        yield Statement(self._statements.inbox, (thread_id, types, message_ids))
        if not self._schema_is_verified:
            yield Statement(self._statements.newest_migration)

    def _verify(self, schema: list[Result]) -> None:
        """Compare versions once, with the first load: code that was deployed before its schema must not go on."""
        for newest in schema:
            if newest.rows[0][0] < SCHEMA_VERSION:
                raise Misconfigured(f"the schema has version {newest.rows[0][0]}, this code needs {SCHEMA_VERSION}")
            self._schema_is_verified = True

    def _commit(self, commit: Commit) -> Iterator[Statement]:
        thread_id = commit.row.thread_id
        fenced = (thread_id, commit.row.commit_id)
        yield self._fence(commit)
        if commit.entries:
            yield Statement(
                self._statements.add_entries, (thread_id, *_columns(map(_entry_columns, commit.entries), 6), *fenced)
            )
        for call in commit.calls:
            yield Statement(self._statements.put_call, (thread_id, *_call_columns(call), *fenced))
        if commit.consumed:
            consumed = _columns(((key.type, key.message_id) for key in commit.consumed), 2)
            yield Statement(self._statements.add_inbox, (thread_id, commit.row.version, *consumed, *fenced))
        if commit.withheld:
            withheld = (commit.withheld_code, thread_id, list(commit.withheld))
            yield Statement(self._statements.withhold, (*withheld, *fenced))

    def _fence(self, commit: Commit) -> Statement:
        row = commit.row
        if commit.expected_version == 0:
            return Statement(self._statements.create_thread, (*_thread_columns(row), row.thread_id, row.root_id))
        return Statement(
            self._statements.change_thread, (*_thread_columns(row), row.thread_id, commit.expected_version)
        )


def _columns(rows: Iterable[tuple[object, ...]], width: int) -> tuple[list[object], ...]:
    """Turn rows around into one array per column, as `unnest` wants them."""
    return tuple(map(list, zip(*rows, strict=True))) or ([],) * width


def _thread_columns(row: ThreadRow) -> tuple[object, ...]:
    return (
        row.head,
        row.version,
        row.commit_id,
        row.person.user_id,
        None if row.person.metadata is None else object_json(row.person.metadata).decode(),
        row.person.metadata_sent_ms,
        row.tokens.day,
        row.tokens.used,
        None if row.gave_up is None else gave_up_json(row.gave_up).decode(),
    )


def _thread_row(thread_id: str, rows: list[Row]) -> ThreadRow:
    if not rows:
        return ThreadRow(thread_id=thread_id, root_id=thread_id)
    root_id, head, version, commit_id, user_id, metadata, metadata_sent_ms, tokens_day, tokens_used, gave_up = rows[0]
    return ThreadRow(
        thread_id=thread_id,
        root_id=root_id,
        head=head,
        version=version,
        commit_id=commit_id,
        person=Person(user_id, None if metadata is None else read_object(metadata), metadata_sent_ms),
        tokens=TokensOfDay(tokens_day, tokens_used),
        gave_up=None if gave_up is None else read_gave_up(gave_up),
    )


def _entry_columns(entry: Entry) -> tuple[object, ...]:
    body = entry.body
    return (entry.position, entry.turn, body.kind, body_json(body).decode(), entry.created_ms, entry.withheld)


def _entry(row: Row) -> Entry:
    position, turn, kind, body, created_ms, withheld = row
    return Entry(position, turn, read_body(kind, body), created_ms, withheld)


def _call_columns(call: Call) -> tuple[object, ...]:
    return (
        call.call_id,
        call.state,
        call.name,
        object_json(call.arguments).decode(),
        call.target.toolset,
        call.target.endpoint,
        call.target.on_interrupt,
        call.position,
        call.committed_ms,
        call.provider_call_id,
        call.due_ms,
    )


def _call(row: Row) -> Call:
    call_id, state, name, arguments, toolset, endpoint, on_interrupt, position, committed_ms, provider_id, due_ms = row
    return Call(
        call_id=call_id,
        name=name,
        arguments=read_object(arguments),
        state=state,
        target=CallTarget(toolset, endpoint, on_interrupt),
        position=position,
        committed_ms=committed_ms,
        provider_call_id=provider_id,
        due_ms=due_ms,
    )
