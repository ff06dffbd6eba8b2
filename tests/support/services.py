"""PostgreSQL under DSQL's rules, and the AWS emulator, for every test that wants the real thing.

Each starts at its first use in a test session and stops at its end, also when the session is killed.
"""

from collections.abc import Iterator

import pytest

from scripts.offline_stack.throwaway import DsnFactory as DsnFactory
from scripts.offline_stack.throwaway import ministack, postgres_dsql


@pytest.fixture(scope="session")
def fresh_dsn() -> Iterator[DsnFactory]:
    with postgres_dsql() as factory:
        yield factory


@pytest.fixture(scope="session")
def aws_endpoint() -> Iterator[str]:
    with ministack() as endpoint:
        yield endpoint
