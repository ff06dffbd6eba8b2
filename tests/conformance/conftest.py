"""The two histories, for the modules of their suite."""

import uuid
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from runtime.ports import History
from scripts.offline_stack.throwaway import DsnFactory
from tests.conformance.history_stores import DsqlStore, MemoryStore, Store
from tests.support.dsql import migrated


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
