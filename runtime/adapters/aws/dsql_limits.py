"""What DSQL takes in one transaction, checked before anything is sent: refused early or stored whole, never split."""

from collections.abc import Iterable

from runtime.adapters.aws.dsql_connection import Statement
from runtime.errors import PermanentError
from runtime.model.threads import Commit

# DSQL's limits: 1 MiB per column, 1 KiB per key, 3,000 rows and 10 MiB per transaction.
MAX_VALUE_BYTES = 1024 * 1024
MAX_KEY_BYTES = 1024
MAX_ROWS = 3_000
MAX_TRANSACTION_BYTES = 10 * 1024 * 1024
# What a row holds beside its texts: numbers, and the thread's id in the row and in its key.
_ROW_BYTES = 400


def require_storable(commit: Commit, statements: Iterable[Statement]) -> None:
    """Return if the commit, written by these statements, keeps within every limit.

    Raises:
        PermanentError: it does not; the message is fit to be shown to a model.
    """
    rows = _rows_of(commit)
    if rows > MAX_ROWS:
        raise PermanentError(f"too much at once: {rows:,} rows, and at most {MAX_ROWS:,} can be stored together")
    sizes = [size_bytes(text) for statement in statements for text in _texts(statement.values)]
    if max(sizes) > MAX_VALUE_BYTES:
        raise PermanentError(f"a value of {max(sizes):,} bytes is too large, at most {MAX_VALUE_BYTES:,} can be stored")
    total = sum(sizes) + rows * _ROW_BYTES
    if total > MAX_TRANSACTION_BYTES:
        raise PermanentError(
            f"too much at once: {total:,} bytes, and at most {MAX_TRANSACTION_BYTES:,} can be stored together"
        )
    for key in commit.consumed:
        if size_bytes(commit.row.thread_id) + size_bytes(key.type) + size_bytes(key.message_id) > MAX_KEY_BYTES:
            raise PermanentError(f"the id of a message is too long, its key may have {MAX_KEY_BYTES:,} bytes")


def _rows_of(commit: Commit) -> int:
    """Count what is written, without the threads that a closing closes: how many those are, the budgets decide."""
    own = 1 + len(commit.entries) + len(commit.calls) + len(commit.consumed) + len(commit.withheld)
    begun = sum(1 + len(new.entries) + len(new.calls) for new in commit.created)
    summaries = (commit.summary is not None) + (commit.frozen_state is not None)
    tree = bool(commit.spent or commit.created or commit.row.closed) + commit.metadata_is_new
    return own + begun + summaries + tree


def size_bytes(text: str) -> int:
    """Return the size in UTF-8. ASCII, which nearly all of it is, needs no encoding to know."""
    return len(text) if text.isascii() else len(text.encode())


def _texts(values: Iterable[object]) -> Iterable[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _texts(value)
