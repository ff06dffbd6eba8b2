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
    "turn_start",
    "user_id",
)
# What a commit to the thread may change. `is_open` and `closed_by` belong to the closing, the rest to the beginning.
_CHANGING_COLUMNS = (
    "head",
    "version",
    "commit_id",
    "user_id",
    "metadata",
    "metadata_sent_ms",
    "tokens_day",
    "tokens_used",
    "gave_up",
    "has_family",
    "summary_id",
    "summary_up_to",
    "compaction",
)
_FENCED = "EXISTS (SELECT 1 FROM {schema}.threads WHERE thread_id = %s AND commit_id = %s)"
# Behind the fence, and the first commit that closes the thread: a later one finds it closed and closes nothing again.
_CLOSING = """EXISTS (
    SELECT 1 FROM {schema}.threads WHERE thread_id = %s AND commit_id = %s AND is_open IS DISTINCT FROM false
)"""


@dataclass(frozen=True, slots=True)
class Statements:
    """Texts with names in braces; `for_schema` fills them in. The order of parameters is that of the text."""

    # Reading a thread's own rows.
    thread: str = """
        SELECT root_id, kind, birth, is_open, {changing_columns} FROM {schema}.threads WHERE thread_id = %s
    """
    entries: str = """
        SELECT position, turn, kind, body, created_ms, withheld
        FROM {schema}.entries
        WHERE thread_id = %s
            AND position > least(%s, (SELECT coalesce(summary_up_to, 0) FROM {schema}.threads WHERE thread_id = %s))
        ORDER BY position
    """
    owed_entries: str = """
        SELECT position, turn, kind, body, created_ms, withheld
        FROM {schema}.entries WHERE thread_id = %s AND position > %s ORDER BY position
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

    # Reading what a thread has from others.
    ancestors: str = """
        SELECT thread_id, is_open, metadata, metadata_sent_ms, tokens_day, tokens_used
        FROM {schema}.threads WHERE thread_id = ANY(%b::text[])
    """
    inherited_entries: str = """
        SELECT position, turn, kind, body, created_ms, withheld
        FROM unnest(%b::text[], %b::bigint[], %b::bigint[]) AS part (ancestor_id, seen, up_to)
        JOIN {schema}.entries ON thread_id = part.ancestor_id AND position > part.seen AND position <= part.up_to
        ORDER BY position
    """
    # Those that are open; and those whose last word the parent has not consumed, where it is asked about them.
    children: str = """
        SELECT thread_id, kind, birth, true FROM {schema}.threads
        WHERE parent_id = %s AND is_open AND kind <> 'compaction'
        UNION ALL
        SELECT thread_id, kind, birth, false FROM {schema}.threads AS child
        WHERE parent_id = %s AND is_open = false AND kind = 'spawned' AND closed_by = thread_id AND NOT EXISTS (
            SELECT 1 FROM {schema}.inbox AS heard
            WHERE heard.thread_id = child.parent_id AND type = %s AND message_id = %s || child.thread_id
        )
        ORDER BY thread_id
    """
    tree: str = "SELECT day, tokens, open_threads FROM {schema}.trees WHERE root_id = %s"
    summaries: str = """
        SELECT summary_id, up_to, text, state FROM {schema}.summaries WHERE summary_id = ANY(%b::text[])
    """
    ended: str = """
        SELECT ended_id, {call_columns}
        FROM (SELECT thread_id AS ended_id FROM {schema}.threads WHERE closed_by = %s) AS ended
        LEFT JOIN {schema}.calls ON thread_id = ended_id AND state = ANY(%b::text[])
        ORDER BY ended_id <> %s, ended_id, call_id
    """

    # Writing. The first two are the fence; the others ask for our commit id behind it.
    create_thread: str = """
        INSERT INTO {schema}.threads ({changing_columns}, thread_id, root_id, parent_id, kind, birth, is_open)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, true)
        ON CONFLICT (thread_id) DO NOTHING
    """
    # Metadata that was sent later may have come from a thread below, which raises no version here.
    change_thread: str = """
        UPDATE {schema}.threads
        SET head = %s, version = %s, commit_id = %s, user_id = %s,
            metadata = CASE WHEN metadata_sent_ms < %s THEN %s ELSE metadata END,
            metadata_sent_ms = greatest(metadata_sent_ms, %s),
            tokens_day = %s, tokens_used = %s, gave_up = %s,
            has_family = %s, summary_id = %s, summary_up_to = %s, compaction = %s
        WHERE thread_id = %s AND version = %s
    """
    add_thread: str = """
        INSERT INTO {schema}.threads ({changing_columns}, thread_id, root_id, parent_id, kind, birth, is_open)
        SELECT %s::bigint, %s::bigint, %s, %s, %s, %s::bigint, %s, %s::bigint, %s, %s::boolean, %s, %s::bigint, %s,
            %s, %s, %s, %s, %s, true
        WHERE {fenced}
    """
    add_entries: str = """
        INSERT INTO {schema}.entries (thread_id, position, turn, kind, body, created_ms, withheld)
        SELECT added.* FROM unnest(
            %b::text[], %b::bigint[], %b::bigint[], %b::text[], %b::text[], %b::bigint[], %b::text[]
        ) AS added
        WHERE {fenced}
    """
    put_call: str = """
        INSERT INTO {schema}.calls (thread_id, {call_columns})
        SELECT %s, %s, %s, %s, %s, %s, %s, %s, %s::bigint, %s::bigint, %s, %s::bigint, %s::bigint, %s WHERE {fenced}
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
    # Every open thread that this transaction can see is written; one that begins meanwhile is begun by a commit that
    # writes one of them as well. So the two conflict, and whichever comes second sees what the first one did.
    close_descendants: str = """
        WITH RECURSIVE below (ended_id) AS (
            SELECT thread_id FROM {schema}.threads WHERE parent_id = %s AND is_open AND {closing}
            UNION ALL
            SELECT child.thread_id
            FROM below JOIN {schema}.threads AS child ON child.parent_id = below.ended_id AND child.is_open
        )
        UPDATE {schema}.threads SET is_open = false, closed_by = %s, version = version + 1
        WHERE thread_id = ANY(ARRAY(SELECT ended_id FROM below))
    """
    tell_root: str = """
        UPDATE {schema}.threads SET metadata = %s, metadata_sent_ms = %s
        WHERE thread_id = %s AND metadata_sent_ms < %s AND {fenced}
    """
    add_to_tree: str = """
        INSERT INTO {schema}.trees AS kept (root_id, bucket, day, tokens, open_threads)
        SELECT %s, %s::bigint, %s, %s::bigint, %s::bigint WHERE {fenced}
        ON CONFLICT (root_id, bucket) DO UPDATE
        SET open_threads = kept.open_threads + EXCLUDED.open_threads, day = greatest(kept.day, EXCLUDED.day),
            tokens = CASE
                WHEN kept.day = EXCLUDED.day THEN kept.tokens + EXCLUDED.tokens
                WHEN kept.day < EXCLUDED.day THEN EXCLUDED.tokens
                ELSE kept.tokens
            END
    """
    count_closed: str = """
        INSERT INTO {schema}.trees AS kept (root_id, bucket, day, tokens, open_threads)
        SELECT %s, %s::bigint, '', 0, -%s::bigint - count(*) FROM {schema}.threads
        WHERE closed_by = %s AND kind <> 'compaction'
        HAVING {closing}
        ON CONFLICT (root_id, bucket) DO UPDATE SET open_threads = kept.open_threads + EXCLUDED.open_threads
    """
    # The last of the closing ones, because the others ask whether the thread is still open.
    close_thread: str = """
        UPDATE {schema}.threads SET is_open = false, closed_by = thread_id WHERE thread_id = %s AND {closing}
    """
    add_summary: str = """
        INSERT INTO {schema}.summaries (summary_id, thread_id, up_to, text, state)
        SELECT %s, %s, %s::bigint, %s, %s WHERE {fenced}
        ON CONFLICT (summary_id) DO NOTHING
    """
    freeze_summary: str = """
        UPDATE {schema}.summaries SET state = %s WHERE summary_id = %s AND state IS NULL AND {fenced}
    """


def for_schema(schema: str) -> Statements:
    """Return the statements as they are sent, the same text every time, so that each is prepared once."""
    names = {
        "schema": sql.Identifier(schema),
        "fenced": sql.SQL(_FENCED).format(schema=sql.Identifier(schema)),
        "closing": sql.SQL(_CLOSING).format(schema=sql.Identifier(schema)),
        "changing_columns": sql.SQL(", ").join(map(sql.Identifier, _CHANGING_COLUMNS)),
        "call_columns": sql.SQL(", ").join(map(sql.Identifier, _CALL_COLUMNS)),
        "call_changes": sql.SQL(", ").join(
            sql.SQL("{column} = EXCLUDED.{column}").format(column=sql.Identifier(column))
            for column in _CALL_COLUMNS[1:]
        ),
    }
    texts = Statements()
    return Statements(*(sql.SQL(getattr(texts, field.name)).format(**names).as_string() for field in fields(texts)))
