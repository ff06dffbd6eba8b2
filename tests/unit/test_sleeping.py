"""Waiting for a time: what ends a sleep, what becomes of its timer, and how long a result is waited for."""

from dataclasses import replace
from typing import Any

from runtime import phrases
from runtime.errors import Unavailable
from runtime.items import plain_text
from runtime.model.entries import Event, ToolResult
from runtime.model.toolsets import ToolServer
from runtime.ports import Timers
from runtime.settings import Settings
from runtime.tools.offers import Offers
from runtime.tools.toolsets import Toolsets
from tests.support.values import calls, says
from tests.support.world import World


def sleeping_world(seconds: int = 600) -> World:
    world = World([calls("sleep", {"seconds": seconds}), says("One."), says("Two."), says("Three.")])
    world.say("sleep")
    world.settle()
    return world


def result_of(world: World, position: int) -> str:
    body = world.entries[position - 1].body
    assert isinstance(body, ToolResult | Event)
    return plain_text(body.items)


def test_a_sleep_ends_when_its_time_is_over_and_the_agent_goes_on() -> None:
    world = sleeping_world()
    world.wait(599)
    assert world.kinds == ["user", "tool_call"]

    world.wait(1)

    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]
    assert result_of(world, 3) == "Slept for 600 s."


def test_a_sleep_of_no_time_ends_at_once() -> None:
    world = sleeping_world(0)

    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]
    assert result_of(world, 3) == "Slept for 0 s."


def test_a_sleep_that_somebody_interrupts_says_how_long_it_was_and_leaves_no_timer() -> None:
    world = sleeping_world()
    world.clock.advance(120)
    world.say("hello")
    world.settle()

    assert world.kinds == ["user", "tool_call", "tool_result", "user", "assistant"]
    assert result_of(world, 3) == "Woken after 120 s, because something arrived."
    assert world.system.timers.next_due_ms() is None


def test_an_old_timer_does_nothing_to_a_conversation_that_went_on_and_a_new_sleep_works() -> None:
    world = World([calls("sleep", {"seconds": 600}), says("Hello."), calls("sleep", {"seconds": 900}), says("Awake.")])
    world.put_in(timers=DeafTimers(world.ports.timers))  # a short timer cannot be stopped: it is on its way
    world.say("sleep ten minutes")
    world.settle()
    world.wait(120)
    world.say("hello")
    world.settle()
    world.say("sleep a quarter of an hour")
    world.settle()

    world.wait(480)  # the first timer goes off
    assert world.kinds[-1] == "tool_call"
    world.wait(420)

    assert world.kinds[-3:] == ["tool_call", "tool_result", "assistant"]
    assert result_of(world, len(world.kinds) - 1) == "Slept for 900 s."


class DeafTimers:
    """Timers that start and never stop."""

    def __init__(self, timers: Timers) -> None:
        self.start = timers.start
        self.asked_to_stop: list[str] = []

    def stop(self, name: str) -> None:
        self.asked_to_stop.append(name)


def patient_world(*script: Any) -> World:
    """Return a world whose tool server's results are waited for ten minutes."""
    world = World(script)
    server = ToolServer("local", "http://local.invalid", result_timeout_s=600)
    environment = world.system.workers.idle.get()
    world.system.workers.idle.put(replace(environment, offers=Offers(Toolsets((server,), 600))))
    world.say("build")
    world.settle()
    return world


def test_how_long_a_servers_results_are_waited_for_is_a_setting_of_the_server() -> None:
    servers = '[{"name": "a", "url": "https://a", "result_timeout_s": 60}, {"name": "b", "url": "https://b"}]'

    settings = Settings.from_environment({"INFINITY_TOOL_SERVERS": servers})

    assert [server.result_timeout_s for server in settings.tool_servers] == [60, None]


def test_a_result_that_takes_too_long_is_waited_for_no_longer_and_still_arrives() -> None:
    world = patient_world(calls("run_build"), says("No result yet."), says("There it is."))

    world.wait(600)
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]
    assert result_of(world, 3) == phrases.NO_RESULT_YET

    world.calls[0].answer("built")
    world.settle()
    assert world.kinds[4:] == ["event", "assistant"]
    assert result_of(world, 5) == "built"


def test_a_result_that_comes_in_time_stops_the_timer() -> None:
    world = patient_world(calls("run_build"), says("Built."))
    assert world.system.timers.next_due_ms() is not None

    world.calls[0].answer("built")
    world.settle()

    assert world.system.timers.next_due_ms() is None
    world.wait(600)
    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]


class BrokenTimers:
    """Timers whose service cannot be had."""

    def start(self, timer: Any) -> None:
        raise Unavailable(f"{timer.name} was not started")

    def stop(self, name: str) -> None:
        raise Unavailable(f"{name} was not stopped")


def live_through(world: World, receives: int) -> None:
    for _ in range(receives):
        world.settle()
        world.clock.advance(331)


def test_a_sleep_whose_timer_cannot_be_started_again_and_again_is_over_with_an_error() -> None:
    world = World([calls("sleep", {"seconds": 600}), says("Then not.")])
    world.put_in(timers=BrokenTimers())
    world.say("sleep")

    live_through(world, 7)
    assert world.kinds == ["user", "tool_call"]
    live_through(world, 10)

    assert world.kinds == ["user", "tool_call", "tool_result", "assistant"]
    assert result_of(world, 3) == "Error: The time could not be set, again and again."


def test_a_timer_that_cannot_be_stopped_again_and_again_is_let_go() -> None:
    world = World([calls("sleep", {"seconds": 6_000_000}), says("Hello.")])
    world.say("sleep")
    world.settle()
    world.put_in(timers=BrokenTimers())
    world.say("hello")

    live_through(world, 9)

    assert world.kinds == ["user", "tool_call", "tool_result", "user", "assistant"]
    assert len(world.system.inputs) == 0
