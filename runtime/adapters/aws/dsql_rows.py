"""Rows of history as Aurora DSQL holds them, and our types: columns in the order of `dsql_statements`."""

from collections.abc import Iterable

from runtime.adapters.aws.dsql_endpoint import Row
from runtime.model.calls import Call, CallTarget
from runtime.model.entries import Entry
from runtime.model.threads import Birth, Person, Summary, SummaryRef, ThreadRow, TokensOfDay
from runtime.wire.rows import (
    birth_json,
    body_json,
    compaction_json,
    gave_up_json,
    object_json,
    read_birth,
    read_body,
    read_compaction,
    read_gave_up,
    read_object,
)


def as_columns(rows: Iterable[tuple[object, ...]], width: int) -> tuple[list[object], ...]:
    """Turn rows around into one array per column, as `unnest` wants them."""
    return tuple(map(list, zip(*rows, strict=True))) or ([],) * width


def changing_columns(row: ThreadRow) -> tuple[object, ...]:
    """Return what a commit may change. The root's metadata is in the root's row alone."""
    person = row.person if not row.birth.lineage else Person(row.person.user_id)
    return (
        row.head,
        row.version,
        row.commit_id,
        person.user_id,
        metadata_column(person),
        person.metadata_sent_ms,
        row.tokens.day,
        row.tokens.used,
        None if row.gave_up is None else gave_up_json(row.gave_up).decode(),
        row.has_family,
        None if row.summary is None else row.summary.summary_id,
        None if row.summary is None else row.summary.up_to,
        None if row.compaction is None else compaction_json(row.compaction).decode(),
    )


def new_thread_columns(row: ThreadRow) -> tuple[object, ...]:
    """Return all columns of a thread that begins."""
    birth = row.birth
    written = (None, None) if birth == Birth() else (birth.kind, birth_json(birth).decode())
    return (*changing_columns(row), row.thread_id, row.root_id, birth.parent_id, *written)


def changed_thread_columns(row: ThreadRow) -> tuple[object, ...]:
    """Return the changing columns as the fence takes them, which compares when metadata was sent before it sets it."""
    head, version, commit_id, user_id, metadata, sent_ms, *others = changing_columns(row)
    return (head, version, commit_id, user_id, sent_ms, metadata, sent_ms, *others)


def metadata_column(person: Person) -> str | None:
    return None if person.metadata is None else object_json(person.metadata).decode()


def read_thread(thread_id: str, rows: list[Row]) -> ThreadRow:
    if not rows:
        return ThreadRow(thread_id=thread_id, root_id=thread_id)
    root_id, kind, birth, is_open, head, version, commit_id, user_id, metadata, sent_ms, *rest = rows[0]
    tokens_day, tokens_used, gave_up, has_family, summary_id, summary_up_to, compaction = rest
    return ThreadRow(
        thread_id=thread_id,
        root_id=root_id,
        head=head,
        version=version,
        commit_id=commit_id,
        person=read_person(user_id, metadata, sent_ms),
        tokens=TokensOfDay(tokens_day, tokens_used),
        gave_up=None if gave_up is None else read_gave_up(gave_up),
        birth=Birth() if birth is None else read_birth(kind, birth),
        closed=is_open is False,
        has_family=bool(has_family),
        summary=None if summary_id is None else SummaryRef(summary_id, summary_up_to),
        compaction=None if compaction is None else read_compaction(compaction),
    )


def read_person(user_id: str | None, metadata: str | None, metadata_sent_ms: int) -> Person:
    return Person(user_id, None if metadata is None else read_object(metadata), metadata_sent_ms)


def entry_columns(entry: Entry) -> tuple[object, ...]:
    body = entry.body
    return (entry.position, entry.turn, body.kind, body_json(body).decode(), entry.created_ms, entry.withheld)


def read_entry(row: Row) -> Entry:
    position, turn, kind, body, created_ms, withheld = row
    return Entry(position, turn, read_body(kind, body), created_ms, withheld)


def call_columns(call: Call) -> tuple[object, ...]:
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
        call.turn_start,
        call.user_id,
    )


def read_call(row: Row) -> Call:
    call_id, state, name, arguments, toolset, endpoint, on_interrupt, position, committed_ms, *rest = row
    provider_call_id, due_ms, turn_start, user_id = rest
    return Call(
        call_id=call_id,
        name=name,
        arguments=read_object(arguments),
        state=state,
        target=CallTarget(toolset, endpoint, on_interrupt),
        position=position,
        committed_ms=committed_ms,
        provider_call_id=provider_call_id,
        due_ms=due_ms,
        turn_start=turn_start,
        user_id=user_id,
    )


def read_summary(row: Row) -> Summary:
    summary_id, up_to, text, state = row
    return Summary(SummaryRef(summary_id, up_to), text, state)
