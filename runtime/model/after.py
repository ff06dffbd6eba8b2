"""What a commit makes of a thread: the stores do it, and whoever was told that it happened knows without asking."""

from dataclasses import replace

from runtime.model.entries import Entry
from runtime.model.threads import Child, Commit, Family, Summary, Thread, ThreadRow, TokensOfDay


def after(thread: Thread, commit: Commit) -> Thread:
    """Return the thread as the acknowledged commit left it, without asking the store.

    `open_threads` stays too high where a closing closed threads below its children, which were not loaded.
    """
    return Thread(
        row=row_after(thread.row, commit),
        entries=_entries_after(thread, commit) + commit.entries,
        calls={**thread.calls, **{call.call_id: call for call in commit.calls}},
        inbox=thread.inbox | frozenset(commit.consumed),
        family=_family_after(thread, commit),
        summary=_summary_after(thread, commit),
        summaries=thread.summaries,
    )


def _entries_after(thread: Thread, commit: Commit) -> tuple[Entry, ...]:
    marked = frozenset(commit.withheld)
    if not marked:
        return thread.entries
    return tuple(
        replace(entry, withheld=commit.withheld_code) if entry.position in marked else entry for entry in thread.entries
    )


def row_after(row: ThreadRow, commit: Commit) -> ThreadRow:
    """Return the row the commit leaves: its own, but metadata gives way only to what was sent later."""
    person, before = commit.row.person, row.person
    is_newer = row.version == 0 or person.metadata_sent_ms > before.metadata_sent_ms
    if is_newer or person.has_metadata_of(before):
        return commit.row
    kept = replace(person, metadata=before.metadata, metadata_sent_ms=before.metadata_sent_ms)
    return replace(commit.row, person=kept)


def _family_after(thread: Thread, commit: Commit) -> Family:
    family = thread.family
    begun = tuple(Child(new.row.thread_id, new.row.birth) for new in commit.created if new.row.counts)
    children = tuple(sorted((*family.children, *begun), key=lambda child: child.thread_id))
    tokens, open_threads = family.tokens, family.open_threads + len(begun)
    if commit.row.birth.lineage and commit.spent:
        tokens = tokens.plus(TokensOfDay(commit.row.tokens.day, commit.spent))
    if commit.row.closed and not thread.row.closed:
        children, open_threads = (), open_threads - len(children) - commit.row.counts
    to_come = family.last_words.difference(commit.consumed)
    return replace(family, children=children, tokens=tokens, open_threads=open_threads, last_words=to_come)


def _summary_after(thread: Thread, commit: Commit) -> Summary | None:
    ref = commit.row.summary
    if ref is None or ref == thread.row.summary:
        return thread.summary
    begun = thread.summaries.get(ref.summary_id)
    return replace(begun, state=commit.frozen_state) if begun is not None and begun.state is None else begun
