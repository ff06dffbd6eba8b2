"""Steps of a family: threads begin, go on and close, each in a commit to a history."""

from dataclasses import replace

from runtime.model.threads import Commit, NewThread, Thread
from runtime.ports import History
from tests.support.history_values import NOTHING_ELSE, child_of, commit_to, said


def positions(thread: Thread) -> list[int]:
    return [entry.position for entry in thread.entries]


def committed(history: History, commit: Commit) -> Thread:
    history.commit(commit)
    return history.load(commit.row.thread_id, NOTHING_ELSE)


def begin(history: History, parent: Thread, *children: NewThread) -> Thread:
    """Begin these threads in a commit of the parent's with one entry more."""
    commit = commit_to(parent, said(parent.row.head + 1), created=children)
    return committed(history, replace(commit, row=replace(commit.row, has_family=True)))


def close(history: History, thread: Thread) -> Commit:
    commit = commit_to(thread, said(thread.row.head + 1, "that was it"))
    commit = replace(commit, row=replace(commit.row, closed=True))
    history.commit(commit)
    return commit


def descend(history: History, root: Thread, depth: int) -> list[Thread]:
    """A line of threads below the root, each begun at its parent's head and with one entry more since then."""
    line = [root]
    for level in range(depth):
        new = child_of(line[-1], f"c{level}", said(line[-1].row.head + 1))
        line[-1] = begin(history, line[-1], new)
        line.append(history.load(new.row.thread_id, NOTHING_ELSE))
    return line
