"""History in Aurora DSQL: one round trip loads a thread, two one with relatives, one commits to it.

The fence is the first statement of a commit: it changes the thread's row only where the expected version stands. Every
further statement asks for our commit id in that row, so a lost fence writes nothing without another round trip.
"""

from collections.abc import Iterator
from itertools import groupby

from runtime.adapters.aws.dsql_commit import commit_statements
from runtime.adapters.aws.dsql_connection import DsqlConnection, Result, Statement
from runtime.adapters.aws.dsql_limits import require_storable
from runtime.adapters.aws.dsql_relatives import relatives_statements, with_relatives
from runtime.adapters.aws.dsql_rows import as_columns, read_call, read_entry, read_thread
from runtime.adapters.aws.dsql_statements import for_schema
from runtime.adapters.aws.migrations import SCHEMA_VERSION
from runtime.errors import FenceLost, Misconfigured
from runtime.model.calls import LIVE_STATES
from runtime.model.messages import MessageKey
from runtime.model.threads import Commit, EndedThread, Thread, Wanted

_LIVE = sorted(LIVE_STATES)


class DsqlHistory:
    """The port `History` over one connection; like that, for one worker thread."""

    def __init__(self, connection: DsqlConnection, schema: str) -> None:
        self._connection = connection
        self._statements = for_schema(schema)
        self._schema_is_verified = False

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        """Return one snapshot of the thread's own rows, in one round trip; what it has from others in a second one.

        The thread's row says whether there is anything, so most threads need no second one.
        """
        thread, entries, calls, inbox, *schema = self._connection.read(list(self._load(thread_id, wanted)))
        self._verify(schema)
        found = frozenset(MessageKey(*row) for row in inbox.rows)
        own = Thread(
            row=read_thread(thread_id, thread.rows),
            entries=tuple(map(read_entry, entries.rows)),
            calls={row[0]: read_call(row) for row in calls.rows},
            inbox=found.intersection(wanted.keys),
        )
        if not wanted.reaches_beyond(own.row):
            return own
        results = self._connection.read(relatives_statements(self._statements, own.row, wanted))
        return with_relatives(own, wanted, results)

    def commit(self, commit: Commit) -> None:
        statements = list(commit_statements(self._statements, commit))
        require_storable(commit, statements)
        fence, *_ = self._connection.write(statements)
        if fence.count == 0:
            raise FenceLost("the thread's version is not the expected one")

    def ended_with(self, thread_id: str) -> tuple[EndedThread, ...]:
        [ended] = self._connection.read([Statement(self._statements.ended, (thread_id, _LIVE, thread_id))])
        return tuple(
            # A thread without a live call is one row as well, of nothing but its id.
            EndedThread(ended_id, tuple(read_call(row[1:]) for row in rows if row[1] is not None))
            for ended_id, rows in groupby(ended.rows, key=lambda row: str(row[0]))
        )

    def _load(self, thread_id: str, wanted: Wanted) -> Iterator[Statement]:
        yield Statement(self._statements.thread, (thread_id,))
        if wanted.entries == "owed":
            yield Statement(self._statements.owed_entries, (thread_id, wanted.performed))
        else:
            yield Statement(self._statements.entries, (thread_id, wanted.performed, thread_id))
        yield Statement(self._statements.calls, (thread_id, _LIVE, thread_id, list(wanted.call_ids), _LIVE))
        types, message_ids = as_columns(((key.type, key.message_id) for key in wanted.keys), 2)
        yield Statement(self._statements.inbox, (thread_id, types, message_ids))
        if not self._schema_is_verified:
            yield Statement(self._statements.newest_migration)

    def _verify(self, schema: list[Result]) -> None:
        """Compare versions once, with the first load: code that was deployed before its schema must not go on."""
        for newest in schema:
            if newest.rows[0][0] < SCHEMA_VERSION:
                raise Misconfigured(f"the schema has version {newest.rows[0][0]}, this code needs {SCHEMA_VERSION}")
            self._schema_is_verified = True
