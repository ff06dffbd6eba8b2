"""One offline stack on which every function may do only what its role allows: see `scripts.offline_stack.access`."""

import json
from collections.abc import Iterator

import pytest

from scripts.commands.target import offline_target
from scripts.offline_stack.emulator import EVALUATE_POLICIES
from scripts.offline_stack.stack import OfflineStack
from tests.offline.outside import Outside
from tests.offline_roles.rights import Roles

# A message may be refused many times; the mark of one that came back is written the first time that it does. A few
# processes at once, and patience with them, for machines that have other work, too.
CONTEXT = {
    "max_receive_count": "1000",
    "slice_max_concurrency": "4",
    "settings": json.dumps({"mark_from_receive": "2", "http_connect_s": "20", "http_total_s": "60"}),
}


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OfflineStack]:
    folder = tmp_path_factory.mktemp("offline-stack")
    running = OfflineStack(folder=folder, context=CONTEXT, emulator_options=[EVALUATE_POLICIES])
    try:
        running.up()
        yield running
    finally:
        running.down()


@pytest.fixture
def outside(stack: OfflineStack) -> Outside:
    return Outside(stack, offline_target(stack))


@pytest.fixture
def roles(stack: OfflineStack) -> Iterator[Roles]:
    deployed = Roles.of(stack)
    yield deployed
    deployed.restore()
