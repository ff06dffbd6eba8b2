"""The two histories, for the modules of their suite."""

import uuid
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from runtime.model.threads import Thread
from runtime.ports import History
from scripts.offline_stack.throwaway import DsnFactory
from tests.conformance.family_steps import committed
from tests.conformance.history_stores import DsqlStore, MemoryStore, Store
from tests.support.dsql import migrated
from tests.support.history_values import NOTHING_ELSE, commit_to, said


@pytest.fixture(scope="module")
def dsn(fresh_dsn: DsnFactory) -> str:
    return migrated(fresh_dsn())


@pytest.fixture(params=["memory", "dsql"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with ExitStack() as stack:
        if request.param == "memory":
            yield MemoryStore()
        else:
            yield DsqlStore(request.getfixturevalue("dsn"), stack)


@pytest.fixture
def history(store: Store) -> History:
    return store.open()


@pytest.fixture
def thread_id() -> str:
    return f"thread {uuid.uuid4()} / : #"


@pytest.fixture
def root(history: History, thread_id: str) -> Thread:
    """A root of four entries."""
    return committed(history, commit_to(history.load(thread_id, NOTHING_ELSE), *map(said, range(1, 5))))
