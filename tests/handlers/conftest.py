"""A tool server of the test's own, and what stands for the runtime that its results are sent to."""

from collections.abc import Iterator

import pytest

from handlers.rap_tools import ToolServer
from tests.support.callback_inbox import Inbox, callback_inbox
from tests.support.tool_client import ToolClient, serving


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    with callback_inbox() as inbox:
        yield inbox


@pytest.fixture
def tools() -> ToolServer:
    return ToolServer("Shop", "What is in stock.")


@pytest.fixture
def shop(tools: ToolServer) -> Iterator[ToolClient]:
    with serving(tools) as client:
        yield client
