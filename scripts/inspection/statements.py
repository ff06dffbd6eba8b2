"""The SQL of `scripts/inspect`. Every statement names the rows it wants and stops at a limit: histories are long.

Names are qualified, arrays are bound in binary, as in `runtime.adapters.aws.dsql_statements`.
"""

from dataclasses import dataclass, fields

from psycopg import sql

_THREAD = """
    threads.thread_id, closed_by, threads.root_id, threads.kind, birth, is_open, head, version, commit_id,
    threads.user_id, metadata, metadata_sent_ms, tokens_day, tokens_used, gave_up, has_family, summary_id,
    summary_up_to, compaction
"""
_ENTRY = "entries.position, entries.turn, entries.kind, entries.body, entries.created_ms, entries.withheld"
_CALL = """
    call_id, state, name, arguments, toolset, endpoint, on_interrupt, calls.position, committed_ms, provider_call_id,
    due_ms, turn_start, calls.user_id
"""


@dataclass(frozen=True, slots=True)
class Statements:
    """Texts with names in braces; `for_schema` fills them in. The order of parameters is that of the text."""

    # Open ones first, then parents before their children: what a limit cuts off hangs on nothing that is shown.
    below: str = """
        WITH RECURSIVE below (thread_id, depth) AS (
            SELECT thread_id, 0 FROM {schema}.threads WHERE thread_id = %s
            UNION ALL
            SELECT child.thread_id, below.depth + 1
            FROM below JOIN {schema}.threads AS child ON child.parent_id = below.thread_id
        )
        SELECT below.thread_id FROM below JOIN {schema}.threads ON threads.thread_id = below.thread_id
        ORDER BY (is_open IS NOT DISTINCT FROM false), depth, below.thread_id LIMIT %s
    """
    threads: str = """
        SELECT {thread}, (
            SELECT created_ms FROM {schema}.entries WHERE entries.thread_id = threads.thread_id
            ORDER BY entries.position LIMIT 1
        )
        FROM {schema}.threads
        WHERE threads.thread_id = ANY(%b::text[])
    """
    newest_entries: str = """
        SELECT threads.thread_id, {entry} FROM {schema}.threads
        JOIN {schema}.entries ON entries.thread_id = threads.thread_id AND entries.position > threads.head - %s
        WHERE threads.thread_id = ANY(%b::text[]) ORDER BY entries.position
    """
    # What the model itself made: usage stands with some of it.
    completions: str = """
        SELECT entries.thread_id, {entry} FROM {schema}.entries
        WHERE thread_id = ANY(%b::text[]) AND kind IN ('assistant', 'tool_call') ORDER BY entries.position
    """
    calls: str = """
        SELECT threads.thread_id, {call} FROM {schema}.threads
        JOIN {schema}.calls ON calls.thread_id = threads.thread_id
            AND (calls.position > threads.head - %s OR calls.state = ANY(%b::text[]))
        WHERE threads.thread_id = ANY(%b::text[]) ORDER BY calls.position
    """
    consumed: str = """
        SELECT threads.thread_id, inbox.version, inbox.type, inbox.message_id FROM {schema}.threads
        JOIN {schema}.inbox ON inbox.thread_id = threads.thread_id AND inbox.version > threads.version - %s
        WHERE threads.thread_id = ANY(%b::text[]) ORDER BY inbox.version, inbox.type, inbox.message_id
    """
    summaries: str = """
        SELECT threads.thread_id, summaries.summary_id, up_to, text, state FROM {schema}.threads
        JOIN {schema}.summaries ON summaries.summary_id = threads.summary_id
        WHERE threads.thread_id = ANY(%b::text[])
    """

    # What waits anywhere in the deployment, oldest first. What closed waits for nothing.
    waiting_calls: str = """
        SELECT threads.thread_id, {call} FROM {schema}.calls JOIN {schema}.threads USING (thread_id)
        WHERE state = ANY(%b::text[]) AND is_open IS DISTINCT FROM false
        ORDER BY committed_ms, thread_id, call_id LIMIT %s
    """
    asking_threads: str = """
        SELECT {thread}, entries.kind, entries.created_ms FROM {schema}.threads
        JOIN {schema}.entries ON entries.thread_id = threads.thread_id AND entries.position = threads.head
        WHERE is_open IS DISTINCT FROM false AND entries.kind IN ('user', 'tool_result', 'event')
        ORDER BY entries.created_ms, threads.thread_id LIMIT %s
    """


def for_schema(schema: str) -> Statements:
    """Return the statements as they are sent."""
    names = {
        "schema": sql.Identifier(schema),
        "thread": sql.SQL(_THREAD),
        "entry": sql.SQL(_ENTRY),
        "call": sql.SQL(_CALL),
    }
    texts = Statements()
    return Statements(*(sql.SQL(getattr(texts, field.name)).format(**names).as_string() for field in fields(texts)))
