"""One offline stack for all end-to-end tests: a real `cdk deploy`, with a folder of its own."""

from collections.abc import Iterator

import pytest

from scripts.commands.target import Target, offline_target
from scripts.offline_stack.stack import OfflineStack


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OfflineStack]:
    running = OfflineStack(folder=tmp_path_factory.mktemp("offline-stack"))
    try:
        running.up()
        yield running
    finally:
        running.down()


@pytest.fixture
def target(stack: OfflineStack) -> Target:
    return offline_target(stack)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the file that takes longest: files are given out whole, and whoever had it last would work alone."""
    items.sort(key=lambda item: item.path.name != "test_scenarios.py")
