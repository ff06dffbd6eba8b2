"""What becomes of messages that cannot be handled."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from runtime.errors import (
    FenceLost,
    Misconfigured,
    ModelUnavailable,
    OutcomeUnknown,
    PermanentError,
    Unavailable,
)
from runtime.giving_up import back_off_s
from runtime.model.entries import Entry, ToolResult
from runtime.model.turns import Completion, ModelRequest, TextBlock
from tests.support.crashing import ProcessDied
from tests.support.values import calls, says
from tests.support.world import World

VISIBILITY_S = 330


@dataclass
class Failing:
    """A port of which one method fails as long as `fails` says so."""

    port: Any
    method: str
    error: BaseException
    fails: Callable[[], bool] = lambda: True

    def __getattr__(self, name: str) -> Any:
        if name == self.method and self.fails():
            return self._fail
        return getattr(self.port, name)

    def _fail(self, *_: Any, **__: Any) -> Any:
        raise self.error


def answers(request: ModelRequest) -> Completion:
    said = [block.text for message in request.messages for block in message.blocks if isinstance(block, TextBlock)]
    if any("kills" in text for text in said):
        raise ProcessDied
    return says(f"You said {said[-1]}.")


def live_through(world: World, receives: int = 1) -> None:
    """Settle that often, with time for everything to become visible again in between; a death ends one of them."""
    for _ in range(receives):
        with suppress(ProcessDied):
            world.settle()
        world.clock.advance(VISIBILITY_S + 1)


def withheld(world: World) -> list[str | None]:
    return [entry.withheld for entry in world.entries if entry.body.kind == "user"]


def test_a_message_that_ends_the_process_each_time_is_withheld_and_those_behind_are_answered() -> None:
    world = World(answers)
    for text in ("it kills", "innocent", "another"):
        world.say(text)
    live_through(world, 12)
    assert withheld(world)[0] == "died"
    assert set(withheld(world)[1:]) == {None}
    assert world.outputs()[0] == ("error", "died")
    assert world.kinds[-1] == "assistant"


def test_what_an_outage_kept_is_not_withheld_for_a_later_message_that_kills() -> None:
    up = [False]

    def model(request: ModelRequest) -> Completion:
        if not up[0]:
            raise ModelUnavailable
        return answers(request)

    world = World(model, give_up_delay_s=10_000_000)
    world.say("innocent")
    live_through(world, 7)
    up[0] = True
    world.say("it kills")
    live_through(world, 12)
    assert withheld(world) == [None, "died"]


def test_a_defect_of_ours_is_no_death() -> None:
    world = World()  # the script is empty, which is an error the runtime knows nothing of
    world.say("hello")
    live_through(world, 12)
    assert world.kinds == []


def test_a_commit_that_is_refused_for_good_ends_where_a_person_looks() -> None:
    world = World(lambda _: says("Hello."))
    world.put_in(history=Failing(world.ports.history, "commit", PermanentError()))
    world.say("hello")
    live_through(world, 21)
    assert (world.kinds, len(world.system.inputs), len(world.system.dead_letters)) == ([], 0, 1)


def test_a_redelivery_of_what_was_given_up_leaves_the_asking_to_its_timer() -> None:
    world = World([ModelUnavailable()] * 100)
    failures = iter([False] * 6 + [True] + [False] * 9)
    world.put_in(receipts=Failing(world.ports.receipts, "write", Unavailable(), lambda: next(failures)))
    world.say("hello")
    live_through(world, 6)
    failures = iter([True] + [False] * 99)
    live_through(world, 1)
    asked = len(world.model.seen)
    live_through(world, 1)
    assert (world.kinds, len(world.model.seen)) == (["user"], asked)


def test_a_message_is_given_five_deaths_and_its_first_receives_before_it_is_withheld() -> None:
    world = World(answers)
    world.say("it kills")
    live_through(world, 7)
    assert world.kinds == []
    live_through(world, 1)
    assert withheld(world) == ["died"]


def test_a_poisoned_message_behind_an_innocent_one_costs_the_innocent_nothing() -> None:
    world = World(answers)
    world.say("innocent")
    world.say("it kills")
    live_through(world, 15)
    assert withheld(world) == [None, "died"]


def test_a_database_that_is_away_for_many_receives_withholds_nothing() -> None:
    world = World([says("Back.")])
    away = [True]
    world.put_in(history=Failing(world.ports.history, "load", Unavailable(), lambda: away[0]))
    world.say("hello")
    live_through(world, 12)
    away.clear()
    away.append(False)
    live_through(world)
    assert [(entry.body.kind, entry.withheld) for entry in world.entries] == [("user", None), ("assistant", None)]


def test_a_database_that_refuses_commits_for_many_receives_withholds_nothing() -> None:
    world = World(lambda _: says("Back."))
    away = [True]
    world.put_in(history=Failing(world.ports.history, "commit", Unavailable(), lambda: away[0]))
    world.say("hello")
    live_through(world, 12)
    away[0] = False
    live_through(world)
    assert withheld(world) == [None]


@pytest.mark.parametrize("error", [OutcomeUnknown(), FenceLost()])
def test_an_attempt_that_starts_again_is_no_death(error: BaseException) -> None:
    world = World(lambda _: says("Hello."), deaths_before_withholding=2, mark_from_receive=1)
    failures = iter([True, True, True, False, False])
    world.put_in(history=Failing(world.ports.history, "commit", error, lambda: next(failures)))
    world.say("hello")
    live_through(world, 2)
    assert [(entry.body.kind, entry.withheld) for entry in world.entries] == [("user", None), ("assistant", None)]


def test_looking_for_the_one_that_is_refused_is_no_death() -> None:
    world = World([PermanentError(), says("Fine."), says("Fine.")], deaths_before_withholding=1, mark_from_receive=1)
    for text in ("a", "b"):
        world.say(text)
    live_through(world, 2)
    assert withheld(world) == [None, None]


def test_an_outage_of_the_model_withholds_nothing_and_goes_on_by_itself() -> None:
    up = [False]

    def model(request: ModelRequest) -> Completion:
        if not up[0]:
            raise ModelUnavailable
        return answers(request)

    world = World(model)
    for text in ("a", "b"):
        world.say(text)
    live_through(world, 8)
    assert world.kinds == ["user", "user"]
    assert [code for kind, code in world.outputs() if kind == "error"] == ["model_unavailable", "model_unavailable"]
    up[0] = True
    world.wait(900)
    assert world.kinds == ["user", "user", "assistant"]
    assert withheld(world) == [None, None]


def test_giving_up_again_and_again_waits_longer_each_time_and_ends() -> None:
    world = World([ModelUnavailable()] * 10_000, give_ups=3)
    world.say("hello")
    live_through(world, 8)
    due = []
    while (at_ms := world.system.timers.next_due_ms()) is not None:
        due.append(at_ms - world.clock.now_ms())
        world.wait((at_ms - world.clock.now_ms()) / 1000)
        live_through(world, 8)
    assert len(due) == 3
    assert due == sorted(due)


def test_a_wrong_model_id_is_retried_and_never_withheld() -> None:
    world = World([Misconfigured()] * 7 + [says("Right.")])
    world.say("hello")
    live_through(world, 7)
    assert withheld(world) == [None]
    world.wait(900)
    assert world.kinds == ["user", "assistant"]


def test_a_refusal_after_a_loop_back_withholds_the_result_that_was_refused() -> None:
    world = World([calls("list_activity"), PermanentError(), says("Going on.")])
    world.say("list")
    world.settle()
    assert [(entry.body.kind, entry.withheld) for entry in world.entries] == [
        ("user", None),
        ("tool_call", None),
        ("tool_result", "model_refused"),
    ]
    world.say("go on")
    world.settle()
    assert world.kinds[-1] == "assistant"


def test_a_hand_over_that_ends_the_process_each_time_becomes_a_result_that_says_so() -> None:
    world = World([calls("run_build"), says("It could not be started.")])
    world.put_in(servers=Failing(world.ports.servers, "invoke", ProcessDied()))
    world.say("build")
    live_through(world, 10)
    result = _result(world.entries[2])
    assert result.status == "error"
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]


def test_a_hand_over_that_cannot_even_be_tried_is_given_up_after_eight_receives() -> None:
    world = World([calls("run_build"), says("It could not be started.")])
    world.put_in(servers=Failing(world.ports.servers, "invoke", Unavailable()))
    world.say("build")
    live_through(world, 7)
    assert world.kinds == ["user", "tool_call"]
    live_through(world, 1)
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]


def test_an_output_that_cannot_be_sent_is_never_replaced_and_sent_when_it_can_be() -> None:
    world = World([says("Hello.")])
    away = [True]
    world.put_in(queues=Failing(world.ports.queues, "send_outputs", Unavailable(), lambda: away[0]))
    world.say("hello")
    live_through(world, 12)
    assert world.outputs() == []
    away[0] = False
    live_through(world)
    assert world.outputs() == [("text", "Hello."), ("turn_done", None)]
    assert world.kinds == ["user", "assistant"]


def test_the_time_until_the_next_try_doubles_with_jitter_up_to_five_minutes() -> None:
    assert [back_off_s(n, chance=1.0) for n in (1, 2, 3, 6, 7, 20)] == [5, 10, 20, 160, 300, 300]
    assert [back_off_s(n, chance=0.0) for n in (1, 7)] == [2, 150]


def test_all_messages_of_a_group_come_back_at_the_same_time() -> None:
    world = World([ModelUnavailable()] * 3 + [says("All.")])
    for text in ("a", "b", "c"):
        world.say(text)
    world.settle()
    world.wait(10)
    assert world.kinds == ["user", "user", "user", "assistant"]


@pytest.mark.parametrize("gone", [0, 5])
def test_a_slice_without_time_for_a_completion_keeps_the_inputs_and_wakes_itself(gone: int) -> None:
    world = World([says("Now.")], completion_reserve_s=301 - gone)
    world.say("hello")
    world.system.step()
    assert world.kinds == (["user"] if gone == 0 else ["user", "assistant"])
    assert len(world.system.inputs) == (1 if gone == 0 else 0)


def _result(entry: Entry) -> ToolResult:
    assert isinstance(entry.body, ToolResult)
    return entry.body
