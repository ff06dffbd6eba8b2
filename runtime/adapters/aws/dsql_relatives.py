"""What a thread has from others: the second round trip of a load, the same five statements at every depth.

It sees a later moment than the first. What an ancestor's entries, a birth or a summary say never changes; a closed
ancestor, newer metadata or newer counts only make the thread better informed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from runtime.adapters.aws.dsql_connection import Result, Statement
from runtime.adapters.aws.dsql_endpoint import Row
from runtime.adapters.aws.dsql_rows import as_columns, read_entry, read_person, read_summary
from runtime.adapters.aws.dsql_statements import Statements
from runtime.model.threads import Child, Family, Thread, ThreadRow, TokensOfDay, Wanted
from runtime.own_messages import last_word_of
from runtime.wire.rows import read_birth

_LAST_WORD = (last_word_of("").type, last_word_of("").message_id)  # its type, and what it begins with


def relatives_statements(texts: Statements, row: ThreadRow, wanted: Wanted) -> list[Statement]:
    lineage = row.birth.lineage
    parts = _parts(row) if wanted.entries == "visible" else ()
    summary_ids = {*wanted.summary_ids, *([row.summary.summary_id] if row.summary else [])}
    return [
        Statement(texts.ancestors, ([part.thread_id for part in lineage],)),
        Statement(texts.inherited_entries, as_columns(parts, 3)),
        Statement(texts.children, (row.thread_id, row.thread_id if row.birth.kind == "event" else None, *_LAST_WORD)),
        Statement(texts.tree, (row.root_id,)),
        Statement(texts.summaries, (sorted(summary_ids),)),
    ]


def with_relatives(own: Thread, wanted: Wanted, results: Sequence[Result]) -> Thread:
    """Return the thread with what the statements found."""
    ancestors, inherited, children, tree, summaries = (result.rows for result in results)
    known = {summary.ref.summary_id: summary for summary in map(read_summary, summaries)}
    row = own.row
    root_tokens = TokensOfDay()
    for ancestor_id, _, metadata, sent_ms, tokens_day, tokens_used in ancestors:
        if ancestor_id == row.root_id:
            row = replace(row, person=read_person(row.person.user_id, metadata, sent_ms))
            root_tokens = TokensOfDay(tokens_day, tokens_used)
    return replace(
        own,
        row=row,
        entries=(*map(read_entry, inherited), *own.entries),
        family=Family(
            children=tuple(
                Child(child_id, read_birth(kind, birth)) for child_id, kind, birth, is_open in children if is_open
            ),
            ancestors_open=all(ancestor[1] is not False for ancestor in ancestors),
            tokens=_total([root_tokens, *(TokensOfDay(day, used) for day, used, _ in tree)]),
            open_threads=_open_threads(tree),
            last_words=frozenset(last_word_of(child_id) for child_id, _, _, is_open in children if not is_open),
        ),
        summary=known.get(row.summary.summary_id) if row.summary else None,
        summaries={each: known[each] for each in wanted.summary_ids if each in known},
    )


def _parts(row: ThreadRow) -> Iterable[tuple[str, int, int]]:
    """Yield, for each ancestor that gives something, its id and the positions behind which and up to which it gives."""
    seen = row.summarised
    for part in row.birth.lineage:
        if part.up_to > seen:
            yield part.thread_id, seen, part.up_to
            seen = part.up_to


def _total(counts: Iterable[TokensOfDay]) -> TokensOfDay:
    total = TokensOfDay()
    for each in counts:
        total = total.plus(each)
    return total


def _open_threads(tree: Iterable[Row]) -> int:
    return sum(int(open_threads) for _, _, open_threads in tree)
