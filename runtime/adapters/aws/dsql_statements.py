"""The SQL of history, apart from its use so that every text can be checked against DSQL's dialect.

Names are qualified with the schema, because a search path does not survive every proxy. Numbers and texts are bound as
they come (`%s`), arrays in binary (`%b`), where JSON needs no escaping.
"""

from dataclasses import dataclass, fields

from psycopg import sql

_CALL_COLUMNS = (
    "call_id",
    "state",
    "name",
    "arguments",
    "toolset",
    "endpoint",
    "on_interrupt",
    "position",
    "committed_ms",
    "provider_call_id",
    "due_ms",
)
_FENCED = "EXISTS (SELECT 1 FROM {schema}.threads WHERE thread_id = %s AND commit_id = %s)"


@dataclass(frozen=True, slots=True)
class Statements:
    """Texts with names in braces; `for_schema` fills them in. The order of parameters is that of the text."""

    # Reading.
    thread: str = """
        SELECT root_id, head, version, commit_id, user_id, metadata, metadata_sent_ms, tokens_day, tokens_used, gave_up
        FROM {schema}.threads WHERE thread_id = %s
    """
    entries: str = """
        SELECT position, turn, kind, body, created_ms, withheld
        FROM {schema}.entries WHERE thread_id = %s ORDER BY position
    """
    # Two searches by key: one with OR would walk every call the thread ever made.
    calls: str = """
        SELECT {call_columns} FROM {schema}.calls WHERE thread_id = %s AND state = ANY(%b::text[])
        UNION ALL
        SELECT {call_columns} FROM {schema}.calls
        WHERE thread_id = %s AND call_id = ANY(%b::text[]) AND state <> ALL(%b::text[])
    """
    # May find pairs that nobody wanted, where types and ids mix. A search for exact pairs may end up as a walk.
    inbox: str = """
        SELECT type, message_id FROM {schema}.inbox
        WHERE thread_id = %s AND type = ANY(%b::text[]) AND message_id = ANY(%b::text[])
    """
    newest_migration: str = "SELECT coalesce(max(version), 0) FROM {schema}.schema_version"

    # Writing. The first two are the fence; the others ask for our commit id behind it.
    create_thread: str = """
        INSERT INTO {schema}.threads (
            head, version, commit_id, user_id, metadata, metadata_sent_ms, tokens_day, tokens_used, gave_up,
            thread_id, root_id
        ) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
        ON CONFLICT (thread_id) DO NOTHING
    """
    change_thread: str = """
        UPDATE {schema}.threads
        SET head = %s, version = %s, commit_id = %s, user_id = %s, metadata = %s, metadata_sent_ms = %s,
            tokens_day = %s, tokens_used = %s, gave_up = %s
        WHERE thread_id = %s AND version = %s
    """
    add_entries: str = """
        INSERT INTO {schema}.entries (thread_id, position, turn, kind, body, created_ms, withheld)
        SELECT %s, added.* FROM unnest(
            %b::bigint[], %b::bigint[], %b::text[], %b::text[], %b::bigint[], %b::text[]
        ) AS added
        WHERE {fenced}
    """
    put_call: str = """
        INSERT INTO {schema}.calls (thread_id, {call_columns})
        SELECT %s, %s, %s, %s, %s, %s, %s, %s, %s::bigint, %s::bigint, %s, %s::bigint WHERE {fenced}
        ON CONFLICT (thread_id, call_id) DO UPDATE SET {call_changes}
    """
    add_inbox: str = """
        INSERT INTO {schema}.inbox (thread_id, version, type, message_id)
        SELECT %s, %s::bigint, consumed.* FROM unnest(%b::text[], %b::text[]) AS consumed
        WHERE {fenced}
    """
    withhold: str = """
        UPDATE {schema}.entries SET withheld = %s
        WHERE thread_id = %s AND position = ANY(%b::bigint[]) AND {fenced}
    """


def for_schema(schema: str) -> Statements:
    """Return the statements as they are sent, the same text every time, so that each is prepared once."""
    names = {
        "schema": sql.Identifier(schema),
        "fenced": sql.SQL(_FENCED).format(schema=sql.Identifier(schema)),
        "call_columns": sql.SQL(", ").join(map(sql.Identifier, _CALL_COLUMNS)),
        "call_changes": sql.SQL(", ").join(
            sql.SQL("{column} = EXCLUDED.{column}").format(column=sql.Identifier(column))
            for column in _CALL_COLUMNS[1:]
        ),
    }
    texts = Statements()
    return Statements(*(sql.SQL(getattr(texts, field.name)).format(**names).as_string() for field in fields(texts)))
