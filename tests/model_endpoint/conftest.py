from collections.abc import Iterator

import pytest

from tests.model_endpoint.support import Served, serving


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    with serving() as running:
        yield running
