"""Slices end to end in memory: messages in, history and outputs out."""

from runtime import phrases
from runtime.errors import ModelUnavailable, PermanentError
from runtime.model.entries import Event, TextItem, ToolResult
from runtime.model.turns import CallBlock, ResultBlock
from tests.support.values import calls, says
from tests.support.world import World


def test_a_question_is_answered() -> None:
    world = World([says("Four.")])
    world.say("What is 2 + 2?")
    world.settle()
    assert world.kinds == ["user", "assistant"]
    assert world.outputs() == [("text", "Four."), ("turn_done", None)]
    assert len(world.system.inputs) == 0


def test_a_tool_is_called_once_and_its_result_is_answered() -> None:
    world = World([calls("run_build", {"seconds": 5}, text="I build."), says("It passed.")])
    world.say("build")
    world.settle()
    assert world.outputs() == [("text", "I build."), ("tool_call", "run_build")]
    (call,) = world.calls
    assert call.arguments == {"seconds": 5}
    call.answer("214 passed")
    world.settle()
    assert world.kinds == ["user", "assistant", "tool_call", "tool_result", "assistant"]
    assert world.outputs() == [("tool_result", "214 passed"), ("text", "It passed."), ("turn_done", None)]
    assert world.thread().calls[call.call_id].state == "answered"


def test_who_speaks_while_a_tool_runs_is_answered_at_once_and_the_result_still_arrives_once() -> None:
    world = World([calls("run_build"), says("It is noon."), says("The build passed.")])
    world.say("build")
    world.settle()
    world.say("what time is it?")
    world.settle()
    assert [text for kind, text in world.outputs() if kind == "text"] == ["It is noon."]
    (call,) = world.calls
    call.answer("214 passed")
    call.answer("214 passed")
    world.settle()
    assert world.kinds == ["user", "tool_call", "tool_result", "user", "assistant", "event", "assistant"]
    placeholder, event = world.entries[2].body, world.entries[5].body
    assert isinstance(placeholder, ToolResult)
    assert placeholder.items == (TextItem(phrases.STILL_RUNNING),)
    assert isinstance(event, Event)
    assert (event.source, event.items) == ("late_result", (TextItem("214 passed"),))
    assert len(world.calls) == 1


def test_a_synchronous_call_loops_back_within_the_slice() -> None:
    world = World([calls("list_activity"), says("Nothing runs.")])
    world.say("what runs?")
    assert world.system.step() == 1
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]
    assert world.thread().row.version == 2


def test_a_message_sent_twice_is_one_turn_even_after_the_queue_forgot_it() -> None:
    world = World([says("Yes."), says("Again?")])
    world.say("yes?", message_id="m1")
    world.settle()
    world.clock.advance(360)
    world.say("yes?", message_id="m1")
    world.settle()
    assert world.kinds == ["user", "assistant"]


def test_the_same_words_said_twice_are_two_turns() -> None:
    world = World([says("One."), says("Two.")])
    world.say("yes")
    world.settle()
    world.say("yes")
    world.settle()
    assert world.kinds == ["user", "assistant", "user", "assistant"]


def test_two_messages_of_one_delivery_are_answered_together() -> None:
    world = World([says("Both.")])
    world.say("first")
    world.say("second")
    world.settle()
    assert world.kinds == ["user", "user", "assistant"]


def test_a_model_that_cannot_be_reached_is_asked_again_later_and_says_so_once() -> None:
    world = World([ModelUnavailable()] * 6 + [says("Here.")])
    world.say("hello")
    world.settle()
    assert world.outputs() == [("error", "model_unavailable")]
    for _ in range(3):
        world.wait(330)
    assert world.kinds == ["user", "assistant"]
    assert world.outputs() == [("text", "Here."), ("turn_done", None)]


def test_what_the_model_refuses_is_withheld_with_one_clear_error_and_those_behind_go_on() -> None:
    world = World([PermanentError()] * 2 + [says("Fine."), says("Also fine.")])
    for text in ("poison", "second", "third"):
        world.say(text)
    world.settle()
    assert [entry.withheld for entry in world.entries if entry.body.kind == "user"] == ["model_refused", None, None]
    assert [text for kind, text in world.outputs() if kind in ("error", "text")] == ["model_refused", "Fine."]


def test_patience_ends_an_outage_keeps_the_inputs_and_a_timer_goes_on_by_itself() -> None:
    world = World([ModelUnavailable()] * 21 + [says("Back.")])
    world.say("hello")
    for _ in range(8):
        world.wait(330)
    assert [(entry.body.kind, entry.withheld) for entry in world.entries] == [("user", None)]
    world.wait(900)
    assert world.kinds == ["user", "assistant"]


def test_an_agent_that_never_stops_is_stopped_by_its_budget() -> None:
    world = World(lambda _: calls("list_activity"), completions_per_input=12, completions_per_slice=5)
    world.say("go")
    world.settle()
    assert world.kinds.count("tool_call") == 12
    assert ("error", "too_many_completions") in world.outputs()


def test_a_slice_that_used_its_completions_goes_on_by_a_message_to_itself() -> None:
    world = World([calls("list_activity")] * 3 + [says("Done.")], completions_per_slice=2)
    world.say("go")
    assert [world.system.step(), world.kinds.count("tool_call")] == [1, 2]
    world.settle()
    assert world.kinds[-1] == "assistant"


def test_a_wait_ends_when_somebody_speaks() -> None:
    world = World([calls("sleep_until_event_or_input"), says("Good morning.")])
    world.say("wait for me")
    world.settle()
    world.clock.advance(3600)
    world.say("I am here")
    world.settle()
    result = world.entries[2].body
    assert isinstance(result, ToolResult)
    assert result.items == (TextItem(phrases.woken_after(3600)),)


def test_tokens_of_a_day_end_the_day_and_the_next_one_goes_on_by_itself() -> None:
    world = World([says("One.")] * 3, tokens_per_day=20)
    for text in ("a", "b", "c"):
        world.say(text)
        world.settle()
    assert world.kinds == ["user", "assistant", "user", "assistant", "user"]
    assert ("error", "tokens_of_day_used") in world.outputs()
    world.wait(86_400)
    assert world.kinds[-1] == "assistant"


def test_a_tool_that_answers_before_its_hand_over_returns_is_matched() -> None:
    world = World([calls("run_build"), says("It passed.")])
    world.on_call = lambda call: call.answer("214 passed")
    world.say("build")
    world.settle()
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]


def test_a_callback_that_is_repeated_is_one_and_a_different_one_is_seen() -> None:
    world = World([calls("run_build"), says("It passed.")])
    world.say("build")
    world.settle()
    (call,) = world.calls
    counted: list[str] = []
    for text, seconds in (("214 passed", 0), ("214 passed", 1), ("none passed", 3_600)):
        world.clock.advance(seconds)
        world.answer(call.call_id, text)
        counted += world.step_counting()
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]
    assert counted == ["repeat_with_another_body"]


def test_two_different_results_in_one_delivery_are_one_and_the_difference_is_counted() -> None:
    world = World([calls("run_build"), says("It passed.")])
    world.say("build")
    world.settle()
    (call,) = world.calls
    world.answer(call.call_id, "214 passed")
    world.answer(call.call_id, "none passed")
    assert world.step_counting() == ("repeat_with_another_body",)
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]


def test_history_that_ended_in_an_unanswered_call_is_valid_again_in_a_fresh_process() -> None:
    before = World([calls("run_build")])
    before.say("build")
    before.settle()
    fresh = World([says("Hello again.")])
    fresh.put_in(history=before.ports.history)
    fresh.say("hello?", message_id="another")
    fresh.settle()
    (request,) = fresh.model.seen
    made = [block.call_id for message in request.messages for block in message.blocks if isinstance(block, CallBlock)]
    answered = [b.call_id for message in request.messages for b in message.blocks if isinstance(b, ResultBlock)]
    assert made == answered
    assert [entry.body.kind for entry in before.entries] == ["user", "tool_call", "tool_result", "user", "assistant"]
