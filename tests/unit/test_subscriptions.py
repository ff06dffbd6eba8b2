"""Events of subscriptions: into the thread itself, or into a thread of their own."""

from dataclasses import replace

import pytest

from runtime import phrases
from runtime.identity import child_id, event_message_id, result_message_id
from runtime.items import plain_text
from runtime.model.entries import Event, TextItem, ToolResult
from runtime.model.messages import EventContent, Message, MessageKey, ResultContent
from runtime.model.threads import Thread, Wanted
from runtime.model.turns import Completion, ModelRequest
from runtime.ports import History
from runtime.wire.messages import body_hash
from tests.support.values import calls, says
from tests.support.world import World


def event(call_id: str, key: str = "1", *, associative: bool = False, final: bool = False) -> Message:
    content = EventContent(call_id, (TextItem(f"event {key}"),), associative, final)
    return Message("t", MessageKey("subscription_event", event_message_id(call_id, key)), content, body_hash(content))


def confirmation(call_id: str) -> Message:
    content = ResultContent(call_id, (TextItem("watching"),), subscription=True)
    return Message("t", MessageKey("tool_result", result_message_id(call_id)), content, body_hash(content))


def by_events(root: list[Completion], child: list[Completion]) -> "Answers":
    return Answers(root, child)


class Answers:
    """A model with one script for the root and one for every thread that was made for an event."""

    def __init__(self, root: list[Completion], child: list[Completion]) -> None:
        self._root, self._child = root, child

    def __call__(self, request: ModelRequest) -> Completion:
        inside = phrases.HANDLE_ONE_EVENT in str(request.messages)
        return (self._child if inside else self._root).pop(0)


def subscribed(root: list[Completion] | None = None, child: list[Completion] | None = None, **settings: int) -> World:
    """A world whose thread has a live subscription, and what its models answer from then on."""
    world = World(
        Answers([calls("run_build"), says("I watch."), *(root or [])], child or []), ("run_build",), **settings
    )
    world.say("watch it")
    world.settle()
    send(world, confirmation(call_of(world)))
    return world


def call_of(world: World) -> str:
    return world.calls[0].call_id


def send(world: World, *messages: Message) -> None:
    world.ports.queues.send_inputs(messages)
    world.settle()


def event_child(world: World, key: str = "1") -> Thread:
    return world.thread(child_id("t", event_message_id(call_of(world), key)))


def events_of(thread: Thread) -> list[str]:
    own = [entry.body for entry in thread.entries if entry.position > thread.row.birth.inherited]
    return [plain_text(body.items) for body in own if isinstance(body, Event)]


def test_an_event_gets_a_thread_of_its_own_which_closes_with_its_turn() -> None:
    world = subscribed(child=[says("Nothing to do.")])
    before = world.entries
    send(world, event(call_of(world)))
    assert world.entries == before
    assert events_of(event_child(world)) == ["event 1"]
    assert event_child(world).row.closed
    assert world.thread().family.children == ()


def test_a_thread_of_an_event_tells_its_parent_only_what_it_reports() -> None:
    world = subscribed([says("Thanks.")], [calls("report_to_parent", {"report": "it broke"}), says("done")])
    send(world, event(call_of(world)))
    assert [entry.body.source for entry in world.entries if isinstance(entry.body, Event)] == ["report"]
    assert "it broke" in events_of(world.thread())[0]


def test_a_thread_of_an_event_stays_while_something_runs_for_it() -> None:
    world = subscribed(child=[calls("run_build"), says("Waiting."), says("Built.")])
    send(world, event(call_of(world)))
    child = event_child(world)
    assert not child.row.closed
    assert child.entries[-1].body.kind == "tool_call"


def test_a_thread_of_an_event_takes_events_of_its_own_subscription_itself_and_closes_after_the_last() -> None:
    world = subscribed(child=[calls("run_build"), says("I watch."), says("One."), says("And that was it.")])
    send(world, event(call_of(world)))
    child_thread_id = event_child(world).row.thread_id
    own_call = world.calls[1].call_id
    for message in (confirmation(own_call), event(own_call), event(own_call, "2", final=True)):
        send(world, replace(message, thread_id=child_thread_id))
    assert events_of(event_child(world)) == ["event 1", "event 1", "event 2"]
    assert event_child(world).row.closed


def test_an_associative_event_enters_the_thread_itself() -> None:
    world = subscribed([says("I see.")])
    send(world, event(call_of(world), associative=True))
    assert events_of(world.thread()) == ["event 1"]
    assert world.thread().family.children == ()


def test_the_last_event_ends_the_subscription_and_later_ones_are_dropped() -> None:
    world = subscribed(child=[says("Fine.")])
    send(world, event(call_of(world), final=True))
    send(world, event(call_of(world), "2"))
    assert world.thread().calls[call_of(world)].state == "ended"
    assert event_child(world, "2").row.version == 0


def test_an_event_that_overtakes_its_confirmation_makes_the_subscription() -> None:
    world = World(Answers([calls("run_build"), says("It fired.")], [says("Seen.")]))
    world.say("watch it")
    world.settle()
    send(world, event(call_of(world)), confirmation(call_of(world)))
    assert world.thread().calls[call_of(world)].state == "subscribed"
    results = [entry.body for entry in world.entries if isinstance(entry.body, ToolResult)]
    assert [plain_text(result.items) for result in results] == [phrases.SUBSCRIBED]
    assert events_of(event_child(world)) == ["event 1"]


def test_a_detached_call_becomes_a_subscription_by_its_event() -> None:
    world = World(Answers([calls("run_build"), says("Hello.")], [says("Seen.")]))
    world.say("watch it")
    world.settle()
    world.say("hello?")
    world.settle()
    send(world, event(call_of(world)))
    assert world.thread().calls[call_of(world)].state == "subscribed"
    assert events_of(event_child(world)) == ["event 1"]


def test_a_thread_of_an_event_sees_nothing_of_the_turn_that_waits() -> None:
    world = subscribed([calls("run_build", text="Building.")], [says("Seen.")])
    world.say("build")
    world.settle()
    send(world, event(call_of(world)))
    child = event_child(world)
    assert world.thread().entries[-1].body.kind == "tool_call"
    inherited = [entry.body for entry in child.entries if entry.position <= child.row.birth.inherited]
    assert [body.kind for body in inherited] == ["user", "tool_call", "tool_result", "assistant", "user"]


def test_events_beyond_the_budget_of_children_are_told_inline_in_order_and_none_is_lost() -> None:
    world = subscribed([says(f"seen {n}") for n in range(5)], [says("x")] * 5, live_children=0)
    send(world, *(event(call_of(world), str(n)) for n in range(5)))
    assert events_of(world.thread()) == [f"event {n}" for n in range(5)]
    assert event_child(world, "0").row.version == 0


def test_an_event_that_is_told_inline_wakes_nobody() -> None:
    world = subscribed([says("seen")], live_children=0)
    world.ports.queues.send_inputs([event(call_of(world))])
    world.step_counting()
    assert world.system.inputs.receive() == []


def test_one_subscription_too_many_is_cancelled_with_a_result_that_says_so() -> None:
    world = subscribed([calls("run_build"), says("Too many.")], live_subscriptions=1)
    world.say("another")
    world.settle()
    second = world.calls[1].call_id
    send(world, confirmation(second))
    assert world.thread().calls[second].state == "cancelled"
    result = [entry.body for entry in world.entries if isinstance(entry.body, ToolResult)][-1]
    assert (result.status, plain_text(result.items)) == ("error", phrases.TOO_MANY_SUBSCRIPTIONS)


def test_the_same_event_twice_makes_one_thread() -> None:
    world = subscribed(child=[says("Seen."), says("Never.")])
    send(world, event(call_of(world)))
    head = event_child(world).row.head
    world.clock.advance(400)
    send(world, event(call_of(world)))
    assert event_child(world).row.head == head


class Reads:
    """History that notes what every load asked for."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.commit = history.commit
        self.ended_with = history.ended_with
        self.wanted: list[Wanted] = []

    def load(self, thread_id: str, wanted: Wanted) -> Thread:
        if thread_id == "t":
            self.wanted.append(wanted)
        return self._history.load(thread_id, wanted)


@pytest.mark.parametrize(("associative", "read"), [(False, ["owed"]), (True, ["visible"])])
def test_an_event_with_a_thread_of_its_own_is_routed_without_reading_the_history(
    associative: bool, read: list[str]
) -> None:
    world = subscribed([says("I see.")], [says("Seen.")])
    reads = Reads(world.ports.history)
    world.put_in(history=reads)
    send(world, event(call_of(world), associative=associative))
    assert [wanted.entries for wanted in reads.wanted] == read


def test_an_event_of_a_call_that_is_over_is_dropped_and_counted() -> None:
    world = subscribed()
    world.ports.queues.send_inputs([event("call_unknown")])
    assert "event_of_call_not_live" in world.step_counting()


def test_a_lost_wake_is_sent_again_by_whoever_meets_the_event_again() -> None:
    world = subscribed(child=[says("Seen.")])
    message = event(call_of(world))
    queues = world.ports.queues

    class Losing:
        def send_inputs(self, _messages: list[Message]) -> None:
            raise KeyboardInterrupt

        send_outputs = queues.send_outputs

    world.put_in(queues=Losing())
    queues.send_inputs([message])
    with pytest.raises(KeyboardInterrupt):
        world.settle()
    world.put_in(queues=queues)
    world.wait(400)
    assert events_of(event_child(world)) == ["event 1"]
    assert replace(event_child(world).row, head=0).closed
