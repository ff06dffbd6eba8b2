"""What a tool asks of its user: shown, answered, told to the tool, and taken back when nobody waits for it."""

from typing import Any

import pytest

from runtime.errors import HandOverFailed, Unavailable
from runtime.identity import digest
from runtime.model.messages import ChoiceAnswerContent, Message, MessageKey
from tests.support.asking import Asking
from tests.support.values import calls, says


def test_a_choice_is_shown_and_the_call_goes_on() -> None:
    asking = Asking()
    [shown] = asking.shown
    assert (shown["prompt"], shown["choices"], shown["default"]) == ("Which?", ["red", "green", "blue"], 1)
    assert asking.world.kinds == ["user", "tool_call"]


def test_the_tool_is_told_what_was_chosen_and_everybody_that_it_is() -> None:
    asking = Asking()
    asking.choose(2)
    assert asking.told == [2]
    assert asking.completed() == [asking.choice_id]


def test_what_is_out_of_range_is_the_default() -> None:
    asking = Asking()
    asking.choose(17)
    assert asking.told == [1]


def test_a_second_answer_changes_nothing() -> None:
    asking = Asking()
    asking.choose(2)
    asking.world.clock.advance(400)
    asking.choose(0)
    assert asking.told == [2]


def test_an_answer_to_a_choice_nobody_offered_is_dropped_and_counted() -> None:
    asking = Asking()
    content = ChoiceAnswerContent("no-such-choice", 0)
    key = MessageKey("user_choice_answer", "answer:no-such-choice")
    asking.world.ports.queues.send_inputs([Message("t", key, content, digest("x"))])
    assert "answer_to_no_open_choice" in asking.world.step_counting()
    assert asking.told == []


def test_the_choices_of_a_cancelled_call_are_taken_back() -> None:
    asking = Asking(says("Hello."))
    asking.world.say("hello?")
    asking.world.settle()
    call_id = asking.world.calls[0].call_id
    asking.world.put_in(model=_Saying(calls("cancel_tool_call", {"tool_call_id": call_id}), says("Cancelled.")))
    asking.world.say("stop it")
    asking.world.settle()
    assert asking.completed() == [asking.choice_id]
    asking.choose(0)
    assert asking.told == []


class _Saying:
    def __init__(self, *script: Any) -> None:
        self._script = list(script)

    def complete(self, _request: Any, _timeout_s: float) -> Any:
        return self._script.pop(0)


def test_a_tool_that_cannot_be_told_yet_is_told_again_and_the_choice_stays_open() -> None:
    asking = Asking()
    with asking.while_the_tool_cannot_be_told(Unavailable("away")):
        asking.choose(2)
        for _ in range(3):
            asking.world.wait(300)
        assert asking.completed() == []
    asking.world.wait(300)
    assert asking.told == [2]
    assert asking.completed() == [asking.choice_id]


@pytest.mark.parametrize("failure", [Unavailable("away"), HandOverFailed("the tool server refused the call")])
def test_whatever_keeps_a_choice_from_the_tool_front_ends_are_told_the_same(failure: Exception) -> None:
    asking = Asking()
    with asking.while_the_tool_cannot_be_told(failure):
        asking.choose(2)
        for _ in range(8):
            asking.world.wait(300)
    errors = [output["message"] for output in asking.world.agent.outputs() if output["type"] == "error"]
    assert errors == ["Your choice could not be passed on. Please choose again."]


class Away:
    """Queues to which nothing can be sent for now."""

    def send_inputs(self, _messages: Any) -> None:
        raise Unavailable("away")

    send_outputs = send_inputs


def test_a_choice_is_kept_before_it_is_shown() -> None:
    asking = Asking()
    asking.world.on_call = lambda _: None
    asking.world.calls[0].ask("And how?", ["matt", "bright"], asking.told.append)
    queues = asking.world.ports.queues
    asking.world.put_in(queues=Away())
    asking.world.settle()
    kept = asking.world.ports.choices.of_thread("t")
    assert sorted(choice.prompt for choice in kept) == ["And how?", "Which?"]
    asking.world.put_in(queues=queues)


def test_a_call_that_asks_twice_has_two_choices() -> None:
    asking = Asking()
    asking.world.calls[0].ask("And how?", ["matt", "bright"], asking.told.append)
    asking.world.settle()
    [second] = [output for output in asking.world.agent.outputs() if output["type"] == "user_choice_required"]
    asking.choose(2)
    asking.world.agent.choose(second["choice_id"], 0)
    asking.world.settle()
    assert asking.told == [2, 0]


def test_a_choice_stays_open_until_everybody_could_be_told_that_it_is_made() -> None:
    asking = Asking()
    queues = asking.world.ports.queues
    asking.world.put_in(queues=Away())
    asking.choose(2)
    assert [choice.completed for choice in asking.world.ports.choices.of_thread("t")] == [False]
    asking.world.put_in(queues=queues)
    asking.world.wait(300)
    assert asking.completed() == [asking.choice_id]
