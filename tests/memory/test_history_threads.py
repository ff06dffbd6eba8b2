"""History in memory is shared by worker threads: what is no transaction there has to be a lock."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from runtime.adapters.memory.history import MemoryHistory
from runtime.errors import FenceLost
from tests.support.history_values import NOTHING_ELSE, commit_to, said

WRITERS = 4
ROUNDS = 1_000


@pytest.fixture
def hasty_switches() -> Iterator[None]:
    """Threads take turns as often as the interpreter can, so that a gap is met."""
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before_s)


@pytest.mark.usefixtures("hasty_switches")
def test_what_one_writer_was_told_is_committed_is_never_overwritten_by_another() -> None:
    history = MemoryHistory()

    def compete() -> int:
        won = 0
        for _ in range(ROUNDS):
            thread = history.load("thread", NOTHING_ELSE)
            try:
                history.commit(commit_to(thread, said(thread.row.head + 1)))
                won += 1
            except FenceLost:
                pass
        return won

    with ThreadPoolExecutor(WRITERS) as pool:
        won = sum(competitor.result() for competitor in [pool.submit(compete) for _ in range(WRITERS)])

    assert [entry.position for entry in history.load("thread", NOTHING_ELSE).entries] == list(range(1, won + 1))
