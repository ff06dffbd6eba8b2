"""Random runs of the real slices under every kind of fault at once. Thousands more: `scripts/simulate`."""

import pytest

from scripts.simulation.shrinking import shortest
from scripts.simulation.walk import walk

WALKS_OF_A_CASE = 25


@pytest.mark.parametrize("first", range(0, 200, WALKS_OF_A_CASE))
def test_no_order_of_faults_breaks_a_promise(first: int) -> None:
    for seed in range(first, first + WALKS_OF_A_CASE):
        run = walk(seed)
        if run.violation is not None:
            found = shortest(run)
            pytest.fail("\n".join((f"seed {seed}: {found.violation}", *found.trace[:200])))


def test_the_same_seed_is_the_same_run() -> None:
    assert walk(7).trace == walk(7).trace
