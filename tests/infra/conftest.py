"""The stack in both modes, synthesized once for all tests of this folder."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.infra.synthesized import CLOUD, OFFLINE, Stack, synthesize

SynthesizeWith = Callable[[Mapping[str, object]], Stack]


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    return synthesize(CLOUD, tmp_path_factory.mktemp("cloud"))


@pytest.fixture(scope="session")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    return synthesize(OFFLINE, tmp_path_factory.mktemp("offline"))


@pytest.fixture(params=["cloud", "offline"])
def either(request: pytest.FixtureRequest, cloud: Stack, offline: Stack) -> Stack:
    """The stack for an account and for the local stack, one after the other."""
    return {"cloud": cloud, "offline": offline}[request.param]


@pytest.fixture
def synthesize_with(tmp_path: Path) -> SynthesizeWith:
    """Synthesizes the cloud's stack with some values chosen."""
    return lambda chosen: synthesize({**CLOUD, **chosen}, tmp_path)
