"""Slices that another attempt came before, that stop half-way, or that may try one thing only."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from runtime.errors import FenceLost, ModelUnavailable, Unavailable
from runtime.model.calls import Call, CallTarget
from runtime.model.entries import AssistantText, Entry
from runtime.model.messages import Delivery, Message, MessageKey
from runtime.model.threads import Commit, Thread, Wanted
from runtime.model.turns import Completion, ModelRequest
from runtime.outcome import SliceResult
from runtime.own_messages import wake_message
from runtime.ports import History, Mark
from runtime.prepare import prepare
from runtime.run import Run
from runtime.slice import run_slice
from tests.support.crashing import ProcessDied
from tests.support.values import LIMITS, NOW_MS, called, calls, says, text_message
from tests.support.world import World


def message(text: str) -> Message:
    return replace(text_message(text, f"user:{text}"), thread_id="t")


def left_behind(world: World, *messages: Message) -> Thread:
    """Commit these messages, and nothing after that: as an attempt that died at once, or still asks the model."""
    empty = world.thread()
    world.ports.history.commit(prepare(empty, messages, NOW_MS, LIMITS).commit("another attempt"))
    return world.thread()


def handled(world: World, *messages: Message, receive_count: int = 1) -> SliceResult:
    environment = world.system.workers.idle.get()
    world.system.workers.idle.put(environment)
    run = Run(environment, world.clock.now_ms() + 300_000, receive_count)
    deliveries = [Delivery(one, one.key.message_id, receive_count) for one in messages]
    return run_slice("t", deliveries, run)


def waiting(world: World) -> list[str]:
    """Take what waits on the input queue; return the ids in the bodies."""
    bodies = [received.record.body for received in world.system.inputs.receive()]
    return [body.partition('"message_id":"')[2].partition('"')[0] for body in bodies]


class Failing:
    """The queues, one of whose methods fails as long as `error` is there."""

    def __init__(self, world: World, method: str, error: BaseException) -> None:
        self._queues = world.ports.queues
        self._method = method
        self.error: BaseException | None = error
        world.put_in(queues=self)

    def __getattr__(self, name: str) -> Any:
        return self._fail if name == self._method and self.error else getattr(self._queues, name)

    def _fail(self, *_: Any) -> None:
        assert self.error is not None
        raise self.error


class Overtaken:
    """History whose first commit loses its version to somebody."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.commits: list[Commit] = []

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        return self._history.load(thread_id, wanted)

    def commit(self, commit: Commit) -> None:
        self.commits.append(commit)
        if len(self.commits) == 1:
            raise FenceLost
        self._history.commit(commit)


def test_a_slice_that_finds_traces_of_another_asks_no_model_and_leaves_the_answer_to_a_wake() -> None:
    world = World([says("Beside it.")])
    left_behind(world, message("hello"))
    handled(world, message("hello"))
    assert world.model.seen == []
    assert waiting(world) == ["wake:t:1"]


def test_what_is_new_beside_a_repeat_comes_back_at_once_and_only_the_repeat_is_done() -> None:
    world = World([says("Beside it.")])
    left_behind(world, message("hello"))
    result = handled(world, message("hello"), message("and more"))
    assert [delivery.record_id for delivery in result.handled] == ["user:hello"]
    assert [delivery.record_id for delivery in result.returned] == ["user:and more"]
    assert result.visibility_s == 0
    keys = [message("hello").key, message("and more").key]
    assert list(world.ports.receipts.read("t", keys).receipts) == [message("hello").key]


def test_an_old_repeat_in_a_thread_that_waits_for_nothing_wakes_nobody() -> None:
    world = World([says("Hello.")])
    world.say("hello", message_id="hello")
    world.settle()
    world.ports.receipts.write("t", [], 2)
    handled(world, message("hello"))
    assert waiting(world) == []


def test_a_wake_that_is_stopped_half_way_is_followed_by_one_of_another_name() -> None:
    world = World([calls("list_activity")] * 3 + [says("Done.")], completions_per_slice=2)
    thread = left_behind(world, message("hello"))
    world.ports.queues.send_inputs([wake_message(thread.row.thread_id, thread.row.version)])
    world.settle()
    assert world.kinds[-1] == "assistant"


def test_a_wake_without_time_for_a_completion_is_stored_before_the_next_one_is_sent() -> None:
    world = World([says("Never.")], completion_reserve_s=301)
    thread = left_behind(world, message("hello"))
    wake = wake_message(thread.row.thread_id, thread.row.version)
    handled(world, wake)
    assert waiting(world) == ["wake:t:2"]
    after = world.thread(keys=[wake.key])
    assert (after.row.version, after.row.head, after.inbox) == (2, 1, frozenset({wake.key}))


@pytest.mark.parametrize("end", [ProcessDied(), None])
def test_a_slice_near_its_end_saves_what_it_has_and_goes_on_by_a_wake_also_if_it_dies_in_between(
    end: BaseException | None,
) -> None:
    def model(_: ModelRequest) -> Completion:
        if len(world.model.seen) > 1:
            return says("Done.")
        world.clock.advance(250)
        return calls("list_activity")

    world = World(model, completion_reserve_s=90)
    queues = Failing(world, "send_inputs", end or ProcessDied())
    queues.error = end
    world.say("hello")
    with suppress(ProcessDied):
        world.system.step()
    assert world.kinds == ["user", "tool_call", "tool_result"]

    queues.error = None
    world.wait(331)

    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]
    assert len(world.model.seen) == 2


def test_a_message_that_changes_nothing_is_known_to_have_been_consumed() -> None:
    world = World([says("Hello.")])
    stray = replace(wake_message("t", world.thread().row.version), key=MessageKey("wake", "wake:t:0"))
    left_behind(world, message("hello"), stray)
    assert world.thread(keys=[stray.key]).inbox == frozenset({stray.key})


def test_a_model_that_fails_behind_a_first_step_is_asked_again_by_a_wake() -> None:
    world = World([calls("list_activity"), *[ModelUnavailable()] * 3, says("Done.")])
    world.say("hello")
    world.settle()
    assert world.kinds == ["user", "tool_call", "tool_result"]
    world.wait(10)
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]
    assert [kind for kind, _ in world.outputs() if kind == "error"] == []


def test_two_attempts_at_one_commit_carry_different_ids() -> None:
    world = World([says("Once."), says("Twice.")])
    history = Overtaken(world.ports.history)
    world.put_in(history=history)
    world.say("hello")
    world.settle()
    first, second = history.commits
    assert first.row.version == second.row.version == 1
    assert first.row.commit_id != second.row.commit_id


def test_a_wake_that_cannot_be_sent_leaves_the_message_without_a_receipt_however_often_it_came() -> None:
    world = World(completion_reserve_s=301)
    queues = Failing(world, "send_inputs", Unavailable())
    world.say("hello", message_id="hello")
    for _ in range(12):
        world.settle()
        world.clock.advance(331)
    assert world.ports.receipts.read("t", [message("hello").key]).receipts == {}
    queues.error = None
    world.system.step()
    assert waiting(world) == ["wake:t:1"]


def test_an_output_that_ends_the_process_each_time_is_never_replaced() -> None:
    world = World([says("Hello.")])
    queues = Failing(world, "send_outputs", ProcessDied())
    world.say("hello")
    for _ in range(12):
        _live_on(world)
    queues.error = None
    _live_on(world)
    assert world.outputs() == [("text", "Hello."), ("turn_done", None)]


def test_an_effect_that_is_tried_alone_says_nothing_of_those_behind_it() -> None:
    world = World()
    thread = left_behind(world, message("hello"))
    call = Call("call_1", "run_build", {}, "pending", CallTarget("local", "http://local.invalid/invoke"), 3, NOW_MS)
    entries = (Entry(2, 2, AssistantText("I build."), NOW_MS), Entry(3, 2, called("call_1"), NOW_MS))
    row = replace(thread.row, head=3, version=2, commit_id="another attempt too")
    world.ports.history.commit(Commit(row, entries, (call,), ()))
    world.ports.receipts.mark("t", Mark("entry:2", 1))
    handled(world, message("hello"), receive_count=3)
    assert world.ports.receipts.read("t", [message("hello").key]).performed == 2
    assert world.ports.receipts.read("t", [message("hello").key]).receipts == {}
    assert world.calls == []


def _live_on(world: World) -> None:
    try:
        world.settle()
    except ProcessDied:
        pass
    finally:
        world.clock.advance(331)
