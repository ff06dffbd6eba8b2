"""Asking the model within the time a slice has."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from runtime.adapters.memory.clock import ManualClock
from runtime.errors import CutByDeadline, Misconfigured, ModelUnavailable, RuntimeProblem
from runtime.model.turns import Completion, ModelRequest
from tests.support.values import says
from tests.support.world import World


@dataclass
class SlowModel:
    """Takes the time it is said to, then answers or fails; notes what it was given."""

    clock: ManualClock
    steps: list[tuple[float, Completion | RuntimeProblem]]
    given: list[tuple[int, float]] = field(default_factory=list)

    def complete(self, request: ModelRequest, timeout_s: float) -> Completion:
        self.given.append((request.max_tokens, timeout_s))
        takes_s, step = self.steps.pop(0)
        self.clock.advance(min(takes_s, timeout_s))
        if isinstance(step, RuntimeProblem):
            raise step
        return step


def asked(
    make_steps: Callable[[], list[tuple[float, Completion | RuntimeProblem]]], **settings: Any
) -> tuple[World, SlowModel]:
    world = World(**settings)
    model = SlowModel(world.clock, make_steps())
    world.put_in(model=model)
    world.say("hello")
    world.system.step()
    return world, model


def test_a_completion_that_the_deadline_cut_is_asked_for_again_half_as_long() -> None:
    # A model that would have taken 200 s for all of it takes 100 s for the half.
    world, model = asked(lambda: [(200, CutByDeadline()), (100, says("Short."))])
    (first_tokens, first_s), (second_tokens, second_s) = model.given
    assert (first_tokens, second_tokens) == (8_192, 4_096)
    assert first_s < 200
    assert 100 < second_s < 300 - first_s
    assert world.kinds == ["user", "assistant"]


def test_a_stream_that_broke_is_discarded_whole_and_asked_for_again() -> None:
    world, model = asked(lambda: [(1, ModelUnavailable()), (1, ModelUnavailable()), (1, says("Whole."))])
    assert len(model.given) == 3
    assert [kind for kind, _ in world.outputs()] == ["text", "turn_done"]


def test_no_completion_is_begun_with_too_little_time_left() -> None:
    _, model = asked(lambda: [(150, ModelUnavailable())], completion_reserve_s=151)
    assert len(model.given) == 1


def test_tries_within_a_slice_are_bounded() -> None:
    _, model = asked(lambda: [(1, ModelUnavailable())] * 9)
    assert len(model.given) == 3


def test_what_is_misconfigured_is_not_tried_again_within_the_slice() -> None:
    world, model = asked(lambda: [(1, Misconfigured())] * 3)
    assert len(model.given) == 1
    assert world.outputs() == [("error", "misconfigured")]


def test_every_try_leaves_time_for_the_commit() -> None:
    _, model = asked(lambda: [(265, ModelUnavailable())] * 3, completion_reserve_s=0)
    left_s = 300.0
    for _, timeout_s in model.given:
        assert timeout_s <= max(1.0, left_s - 15)
        left_s -= timeout_s + 1
    assert len(model.given) == 3
