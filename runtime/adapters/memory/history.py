"""History in memory: one dictionary of threads, whose versions are compared under a lock."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from threading import Lock

from runtime.errors import FenceLost, PermanentError
from runtime.model.after import after
from runtime.model.calls import LIVE_STATES, Call
from runtime.model.entries import Entry
from runtime.model.messages import MessageKey
from runtime.model.threads import (
    Child,
    Commit,
    EndedThread,
    Family,
    Person,
    Summary,
    Thread,
    ThreadRow,
    TokensOfDay,
    Wanted,
    behind,
)
from runtime.own_messages import last_word_of


@dataclass(slots=True)
class _Tree:
    """What a root and all below it share, as `Family` counts it."""

    tokens: TokensOfDay = field(default_factory=TokensOfDay)
    open_threads: int = 0


class MemoryHistory:
    """Safe to share between threads. What was loaded never changes under its reader."""

    def __init__(self) -> None:
        # Each with its own rows alone: what a thread inherits, or has in common, is put together when it is loaded.
        self._threads: dict[str, Thread] = {}
        self._children: dict[str, list[str]] = {}
        self._closed_by: dict[str, str] = {}
        self._trees: dict[str, _Tree] = {}
        self._summaries: dict[str, Summary] = {}
        self._lock = Lock()

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        with self._lock:
            stored = self._threads.get(thread_id) or _unknown(thread_id)
            own = Thread(
                row=stored.row,
                entries=behind(wanted.first_own(stored.row), stored.entries),
                calls={
                    call_id: call
                    for call_id, call in stored.calls.items()
                    if call.state in LIVE_STATES or call_id in wanted.call_ids
                },
                inbox=stored.inbox.intersection(wanted.keys),
            )
            return self._with_relatives(own, wanted) if wanted.reaches_beyond(stored.row) else own

    def commit(self, commit: Commit) -> None:
        thread_id = commit.row.thread_id
        with self._lock:
            stored = self._threads.get(thread_id) or _unknown(thread_id)
            if stored.row.version != commit.expected_version:
                raise FenceLost("the thread's version is not the expected one")
            if not stored.inbox.isdisjoint(commit.consumed):
                raise PermanentError("a message of this commit was consumed before")
            if any(new.row.thread_id in self._threads for new in commit.created):
                raise PermanentError("a thread of this commit began before")
            changed = after(stored, commit)
            self._put(replace(changed, row=replace(changed.row, closed=stored.row.closed)))
            self._begin_threads(commit)
            self._tell_the_root(commit)
            self._keep_summaries(commit)
            if commit.row.closed:
                self._close(thread_id)

    def ended_with(self, thread_id: str) -> tuple[EndedThread, ...]:
        with self._lock:
            ended = (each for each, closed_by in self._closed_by.items() if closed_by == thread_id)
            in_order = sorted(ended, key=lambda each: (each != thread_id, each))
            return tuple(EndedThread(each, _live_calls(self._threads[each])) for each in in_order)

    def _with_relatives(self, own: Thread, wanted: Wanted) -> Thread:
        row, root = own.row, self._threads.get(own.row.root_id) or _unknown(own.row.root_id)
        if row.birth.lineage:
            sent_ms = root.row.person.metadata_sent_ms
            row = replace(row, person=Person(row.person.user_id, root.row.person.metadata, sent_ms))
        inherited = tuple(self._inherited(row)) if wanted.entries == "visible" else ()
        summary_id = row.summary.summary_id if row.summary else ""
        return replace(
            own,
            row=row,
            entries=(*inherited, *own.entries),
            family=self._family(row, root.row),
            summary=self._summaries.get(summary_id),
            summaries={each: self._summaries[each] for each in wanted.summary_ids if each in self._summaries},
        )

    def _inherited(self, row: ThreadRow) -> Iterator[Entry]:
        seen = row.summarised
        for part in row.birth.lineage:
            entries = self._threads[part.thread_id].entries if part.thread_id in self._threads else ()
            yield from (entry for entry in entries if seen < entry.position <= part.up_to)
            seen = max(seen, part.up_to)

    def _family(self, row: ThreadRow, root: ThreadRow) -> Family:
        tree = self._trees.get(row.root_id, _Tree())
        children = [self._threads[each].row for each in sorted(self._children.get(row.thread_id, ()))]
        ancestors = [self._threads[part.thread_id].row for part in row.birth.lineage if part.thread_id in self._threads]
        return Family(
            children=tuple(Child(each.thread_id, each.birth) for each in children if each.counts and not each.closed),
            ancestors_open=not any(each.closed for each in ancestors),
            tokens=tree.tokens.plus(root.tokens) if row.birth.lineage else tree.tokens,
            open_threads=tree.open_threads,
            last_words=frozenset(self._last_words(row)) if row.birth.kind == "event" else frozenset(),
        )

    def _last_words(self, row: ThreadRow) -> Iterator[MessageKey]:
        heard = self._threads[row.thread_id].inbox
        for child_id in self._children.get(row.thread_id, ()):
            is_spawned = self._threads[child_id].row.birth.kind == "spawned"
            if is_spawned and self._closed_by.get(child_id) == child_id and last_word_of(child_id) not in heard:
                yield last_word_of(child_id)

    def _put(self, thread: Thread) -> None:
        """Keep a thread's own rows; what `after` says of relatives is not theirs."""
        row = thread.row
        if row.birth.parent_id and row.thread_id not in self._threads:
            self._children.setdefault(row.birth.parent_id, []).append(row.thread_id)
        self._threads[row.thread_id] = Thread(thread.row, thread.entries, thread.calls, thread.inbox)

    def _tree(self, root_id: str) -> _Tree:
        return self._trees.setdefault(root_id, _Tree())

    def _begin_threads(self, commit: Commit) -> None:
        for new in commit.created:
            self._put(Thread(new.row, new.entries, {call.call_id: call for call in new.calls}))
            self._tree(new.row.root_id).open_threads += new.row.counts

    def _tell_the_root(self, commit: Commit) -> None:
        row = commit.row
        if not row.birth.lineage:
            return
        tree, root = self._tree(row.root_id), self._threads.get(row.root_id)
        tree.tokens = tree.tokens.plus(TokensOfDay(row.tokens.day, commit.spent)) if commit.spent else tree.tokens
        if commit.metadata_is_new and root and row.person.metadata_sent_ms > root.row.person.metadata_sent_ms:
            person = Person(root.row.person.user_id, row.person.metadata, row.person.metadata_sent_ms)
            self._put(replace(root, row=replace(root.row, person=person)))

    def _keep_summaries(self, commit: Commit) -> None:
        if commit.summary is not None:
            self._summaries.setdefault(commit.summary.ref.summary_id, commit.summary)
        summary = self._summaries.get(commit.row.summary.summary_id) if commit.row.summary else None
        if summary is not None and summary.state is None:
            self._summaries[summary.ref.summary_id] = replace(summary, state=commit.frozen_state)

    def _close(self, thread_id: str) -> None:
        """Close the thread and every open one below. Only theirs is raised: its own version is the commit's."""
        for ended in self._open_from(thread_id):
            row = self._threads[ended].row
            version = row.version + (ended != thread_id)
            self._put(replace(self._threads[ended], row=replace(row, closed=True, version=version)))
            self._closed_by[ended] = thread_id
            self._tree(row.root_id).open_threads -= row.counts

    def _open_from(self, thread_id: str) -> list[str]:
        below = [self._open_from(each) for each in self._children.get(thread_id, ())]
        is_open = not self._threads[thread_id].row.closed
        return [thread_id, *(each for branch in below for each in branch)] if is_open else []


def _unknown(thread_id: str) -> Thread:
    return Thread(ThreadRow(thread_id=thread_id, root_id=thread_id))


def _live_calls(thread: Thread) -> tuple[Call, ...]:
    return tuple(call for _, call in sorted(thread.calls.items()) if call.state in LIVE_STATES)
