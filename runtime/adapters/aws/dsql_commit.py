"""The statements of one commit, fence first.

Shared rows come last, and in one order: the threads below, the root, the tree's counts. DSQL compares at COMMIT and
does not mind; where rows are locked instead, as in what stands in for it, two commits never wait for each other.
"""

from collections.abc import Iterator

from runtime.adapters.aws.dsql_connection import Statement
from runtime.adapters.aws.dsql_rows import (
    as_columns,
    call_columns,
    changed_thread_columns,
    entry_columns,
    metadata_column,
    new_thread_columns,
)
from runtime.adapters.aws.dsql_statements import Statements
from runtime.identity import digest
from runtime.model.threads import Commit

# Rows of one tree's counts: threads of a tree that commit at the same time seldom meet in one.
BUCKETS = 16


def commit_statements(texts: Statements, commit: Commit) -> Iterator[Statement]:
    """Yield what the commit needs and no more: the fence, and what stands behind it."""
    fenced = (commit.row.thread_id, commit.row.commit_id)
    yield _fence(texts, commit)
    yield from _rows(texts, commit, fenced)
    if commit.row.closed:
        yield Statement(texts.close_descendants, (commit.row.thread_id, *fenced, commit.row.thread_id))
    yield from _tree(texts, commit, fenced)
    yield from _summaries(texts, commit, fenced)


def bucket_of(thread_id: str) -> int:
    return int(digest(thread_id), 16) % BUCKETS


def _fence(texts: Statements, commit: Commit) -> Statement:
    row = commit.row
    if commit.expected_version == 0:
        return Statement(texts.create_thread, new_thread_columns(row))
    return Statement(texts.change_thread, (*changed_thread_columns(row), row.thread_id, commit.expected_version))


def _rows(texts: Statements, commit: Commit, fenced: tuple[str, str]) -> Iterator[Statement]:
    thread_id = commit.row.thread_id
    for new in commit.created:
        yield Statement(texts.add_thread, (*new_thread_columns(new.row), *fenced))
    entries = [(thread_id, *entry_columns(entry)) for entry in commit.entries]
    entries += [(new.row.thread_id, *entry_columns(entry)) for new in commit.created for entry in new.entries]
    if entries:
        yield Statement(texts.add_entries, (*as_columns(entries, 7), *fenced))
    calls = [(thread_id, *call_columns(call)) for call in commit.calls]
    calls += [(new.row.thread_id, *call_columns(call)) for new in commit.created for call in new.calls]
    for call in calls:
        yield Statement(texts.put_call, (*call, *fenced))
    if commit.consumed:
        consumed = as_columns(((key.type, key.message_id) for key in commit.consumed), 2)
        yield Statement(texts.add_inbox, (thread_id, commit.row.version, *consumed, *fenced))
    if commit.withheld:
        yield Statement(texts.withhold, (commit.withheld_code, thread_id, list(commit.withheld), *fenced))


def _tree(texts: Statements, commit: Commit, fenced: tuple[str, str]) -> Iterator[Statement]:
    """Yield what a commit changes beside its own thread and those below it."""
    row, is_below = commit.row, bool(commit.row.birth.lineage)
    if is_below and commit.metadata_is_new:
        sent_ms = row.person.metadata_sent_ms
        yield Statement(texts.tell_root, (metadata_column(row.person), sent_ms, row.root_id, sent_ms, *fenced))
    bucket = (row.root_id, bucket_of(row.thread_id))
    tokens = (row.tokens.day, commit.spent) if is_below and commit.spent else ("", 0)
    begun = sum(new.row.counts for new in commit.created)
    if tokens[1] or begun:
        yield Statement(texts.add_to_tree, (*bucket, *tokens, begun, *fenced))
    if row.closed:
        yield Statement(texts.count_closed, (*bucket, int(row.counts), row.thread_id, *fenced))
        yield Statement(texts.close_thread, (row.thread_id, *fenced))


def _summaries(texts: Statements, commit: Commit, fenced: tuple[str, str]) -> Iterator[Statement]:
    if commit.summary is not None:
        ref = commit.summary.ref
        summary = (ref.summary_id, commit.row.thread_id, ref.up_to, commit.summary.text, commit.summary.state)
        yield Statement(texts.add_summary, (*summary, *fenced))
    if commit.frozen_state is not None and commit.row.summary is not None:
        yield Statement(texts.freeze_summary, (commit.frozen_state, commit.row.summary.summary_id, *fenced))
