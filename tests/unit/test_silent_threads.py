"""A thread that was made for one event never waits for what cannot come."""

from tests.support.values import calls, says
from tests.unit.test_subscriptions import call_of, event, event_child, send, subscribed


def test_a_thread_of_an_event_that_sleeps_until_something_arrives_does_not_stay_for_ever() -> None:
    world = subscribed(child=[calls("sleep_until_event_or_input"), says("Well.")])
    send(world, event(call_of(world)))
    assert event_child(world).row.closed


def test_a_thread_of_an_event_that_gives_up_for_good_says_that_it_has_closed() -> None:
    world = subscribed(child=[calls("list_activity")], completions_per_input=1)
    world.outputs()
    send(world, event(call_of(world)))
    assert event_child(world).row.closed
    said = [(output["type"], output.get("code")) for output in world.agent.outputs()]
    assert said[-2:] == [("error", "too_many_completions"), ("thread_closed", None)]
