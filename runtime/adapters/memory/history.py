"""History in memory: one dictionary of threads, whose versions are compared under a lock."""

from threading import Lock

from runtime.errors import FenceLost, PermanentError
from runtime.model.calls import LIVE_STATES
from runtime.model.threads import Commit, Thread, ThreadRow, Wanted, after


class MemoryHistory:
    """Safe to share between threads. What was loaded never changes under its reader."""

    def __init__(self) -> None:
        self._threads: dict[str, Thread] = {}
        self._lock = Lock()

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        stored = self._threads.get(thread_id) or _unknown(thread_id)
        return Thread(
            row=stored.row,
            entries=stored.entries,
            calls={
                call_id: call
                for call_id, call in stored.calls.items()
                if call.state in LIVE_STATES or call_id in wanted.call_ids
            },
            inbox=stored.inbox.intersection(wanted.keys),
        )

    def commit(self, commit: Commit) -> None:
        thread_id = commit.row.thread_id
        with self._lock:
            stored = self._threads.get(thread_id) or _unknown(thread_id)
            if stored.row.version != commit.expected_version:
                raise FenceLost("the thread's version is not the expected one")
            if not stored.inbox.isdisjoint(commit.consumed):
                raise PermanentError("a message of this commit was consumed before")
            self._threads[thread_id] = after(stored, commit)


def _unknown(thread_id: str) -> Thread:
    return Thread(ThreadRow(thread_id=thread_id, root_id=thread_id))
