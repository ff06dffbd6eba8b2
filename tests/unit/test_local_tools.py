"""What a tool of this process may do beside answering, as its author and its user see it."""

from collections.abc import Callable
from typing import Any

import pytest

from runtime.errors import HandOverFailed
from runtime.local_tools import SERVER, LocalCall
from runtime.model.choices import View
from runtime.model.toolsets import Invocation
from tests.support.values import calls, says
from tests.support.world import World


def called(on_call: Callable[[LocalCall], None] = lambda _: None, *more: Any) -> World:
    world = World([calls("run_build"), *more])
    world.on_call = on_call
    world.say("build")
    world.settle()
    return world


def outputs(world: World, output_type: str) -> list[Any]:
    return [output for output in world.agent.outputs() if output["type"] == output_type]


def test_a_subscription_tells_the_agent_of_what_happens_later() -> None:
    world = called(lambda call: call.subscribe("watching"), says("I am watching."), says("It is red."))
    world.calls[0].fire("red", associative=True, final=True)
    world.settle()
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant", "event", "assistant"]
    assert [output["text"] for output in outputs(world, "text")] == ["I am watching.", "It is red."]


def test_the_user_chooses_and_the_tool_is_told_once_which() -> None:
    told: list[int] = []
    world = called(lambda call: call.ask("Which?", ["this", "that"], told.append, default=1))
    [asked] = outputs(world, "user_choice_required")
    assert (asked["prompt"], asked["choices"], asked["default"]) == ("Which?", ["this", "that"], 1)
    for selected in (0, 1):
        world.agent.choose(asked["choice_id"], selected)
        world.settle()
    assert told == [0]
    assert [output["choice_id"] for output in outputs(world, "user_choice_complete")] == [asked["choice_id"]]


def test_a_login_is_shown_to_the_user_and_the_call_goes_on() -> None:
    world = called(lambda call: call.login("https://login.example/"), says("Thank you."))
    [asked] = outputs(world, "oauth_required")
    assert asked["auth_url"] == "https://login.example/"
    world.calls[0].answer("logged in")
    world.settle()
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]


def test_a_view_is_shown_and_kept_and_no_agent_sees_it() -> None:
    world = called(lambda call: call.show("board", {"rows": [1]}))
    [shown] = outputs(world, "view_update")
    assert (shown["view_type"], shown["content"]) == ("board", {"rows": [1]})
    assert world.system.views.of_thread("t") == (View("t", "board", {"rows": [1]}, world.clock.now_ms()),)
    assert world.kinds == ["user", "tool_call"]


@pytest.mark.parametrize(
    ("act", "named"),
    [
        (lambda call: call.login("javascript:alert"), "auth_url"),
        (lambda call: call.ask("Which?", [], lambda _: None), "choices"),
        (lambda call: call.ask("Which?", ["this"], lambda _: None, default=1), "default"),
        (lambda call: call.answer("x" * 5_000_000), "larger than"),
    ],
)
def test_what_no_tool_server_may_send_is_refused_to_the_tools_author(
    act: Callable[[LocalCall], None], named: str
) -> None:
    world = called()
    with pytest.raises(ValueError, match=named):
        act(world.calls[0])


def test_a_tool_answers_with_text() -> None:
    world = called()
    answer: Callable[[Any], None] = world.calls[0].answer
    with pytest.raises(TypeError, match="with text, not with dict"):
        answer({"green": True})


def test_a_tool_hears_once_what_was_chosen_also_when_it_is_told_again() -> None:
    told: list[int] = []
    world = called(lambda call: call.ask("Which?", ["this"], told.append))
    chosen = choosing(world)
    for _ in range(2):
        world.ports.servers.invoke(chosen, 1)
    assert told == [0]


def test_a_tool_that_fails_at_what_was_chosen_is_a_tool_that_could_not_be_told() -> None:
    world = called(lambda call: call.ask("Which?", ["this"], lambda _: call.arguments["none"]))
    with pytest.raises(HandOverFailed, match="KeyError"):
        world.ports.servers.invoke(choosing(world), 1)


def choosing(world: World) -> Invocation:
    [asked] = outputs(world, "user_choice_required")
    choice = world.ports.choices.get("t", asked["choice_id"])
    assert choice is not None
    return Invocation(SERVER, choice.response_url, {"id": "c", "selected": 0}, "key")
