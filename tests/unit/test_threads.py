"""Threads that begin threads: what a child sees, what it says, how it ends."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from runtime import phrases
from runtime.context import rendered
from runtime.identity import call_id_at, child_id
from runtime.items import plain_text
from runtime.model.entries import Event, JsonObject, ToolResult, UserText
from runtime.model.threads import Thread
from runtime.model.toolsets import Invocation, Notice
from runtime.model.turns import Completion, ModelRequest, ResultBlock
from runtime.own_messages import to_child
from runtime.ports import ToolServers
from tests.support.values import calls, says
from tests.support.world import World


class Family:
    """A model that answers by thread: each has a script of its own, found by the first words that name it."""

    def __init__(self, **scripts: list[Completion]) -> None:
        self._scripts = scripts

    def __call__(self, request: ModelRequest) -> Completion:
        return self._scripts[_who(request)].pop(0)


def _who(request: ModelRequest) -> str:
    """The deepest thread that the request is inside of: by the words its task ends with."""
    seen = json.dumps([str(block) for message in request.messages for block in message.blocks])
    inside = [name for name in ("alpha", "beta", "gamma") if f"Its task is yours: {name}" in seen]
    alone = [name for name in ("alpha", "beta", "gamma") if f"close_thread ends you.]\\\\n{name}" in seen]
    return (inside + alone or ["root"])[-1]


def spawns(task: str, stack: list[str], **arguments: Any) -> Completion:
    return calls("spawn_thread", {"instructions": task, "child_of": stack, **arguments})


CHILD = child_id("t", call_id_at("t", 2))


def texts(thread: Thread) -> list[str]:
    return [
        plain_text(entry.body.items) if isinstance(entry.body, ToolResult | Event) else getattr(entry.body, "text", "")
        for entry in thread.entries
    ]


def test_a_child_works_while_its_parent_goes_on_and_its_report_arrives_as_an_event() -> None:
    world = World(
        Family(
            root=[spawns("alpha", ["t"]), says("It is being looked at."), says("Good news.")],
            alpha=[calls("close_thread", {"thread_id": CHILD, "report_to_parent": "found it"})],
        )
    )
    world.say("look")
    world.settle()
    events = [entry.body for entry in world.entries if isinstance(entry.body, Event)]
    assert [(event.source, event.call_id, event.name) for event in events] == [
        ("report", call_id_at("t", 2), "spawn_thread")
    ]
    assert "found it" in plain_text(events[0].items)
    assert texts(world.thread())[-1] == "Good news."
    assert world.thread(CHILD).row.closed


def test_a_child_begins_with_its_parents_history_byte_for_byte() -> None:
    world = World(Family(root=[spawns("alpha", ["t"]), says("ok"), says("thanks")], alpha=[says("hm"), says("done")]))
    world.say("look")
    world.settle()
    child = world.thread(CHILD)
    parent = world.thread()
    shared = [entry for entry in parent.entries if entry.position <= child.row.birth.inherited]
    assert list(child.entries[: len(shared)]) == shared
    assert rendered(child.row, child.entries)[0] == rendered(parent.row, parent.entries)[0]
    answer = rendered(child.row, child.entries)[2].blocks[0]
    assert isinstance(answer, ResultBlock)
    assert answer.call_id == call_id_at("t", 2)
    assert "alpha" in plain_text(answer.items)


def test_a_child_that_inherits_nothing_begins_with_its_instructions() -> None:
    world = World(
        Family(
            root=[spawns("alpha", ["t"], inherit_context=False), says("ok"), says("thanks")],
            alpha=[calls("report_to_parent", {"report": "found"}), says("")],
        )
    )
    world.say("secret")
    world.settle()
    child = world.thread(CHILD)
    assert isinstance(child.entries[0].body, UserText)
    assert child.entries[0].position == 1
    assert "secret" not in str(rendered(child.row, child.entries))


def test_a_child_that_just_stops_is_asked_once_and_then_its_text_is_its_report() -> None:
    world = World(
        Family(root=[spawns("alpha", ["t"]), says("ok"), says("heard")], alpha=[says("The answer is 7."), says("7.")])
    )
    world.say("look")
    world.settle()
    asked = [entry for entry in world.thread(CHILD).entries if entry.body == UserText(phrases.REPORT_OR_CLOSE)]
    assert len(asked) == 1
    assert [text for text in texts(world.thread()) if text.startswith("Thread ")] == [
        phrases.report_of(CHILD, "7.", closed=False)
    ]


def test_a_child_that_reported_is_not_asked_again() -> None:
    world = World(
        Family(
            root=[spawns("alpha", ["t"]), says("ok"), says("heard")],
            alpha=[calls("report_to_parent", {"report": "found"}), says("That was it.")],
        )
    )
    world.say("look")
    world.settle()
    assert phrases.REPORT_OR_CLOSE not in texts(world.thread(CHILD))


def test_a_parent_talks_to_its_child_and_to_no_other_thread() -> None:
    world = World(
        Family(
            root=[
                spawns("alpha", ["t"]),
                calls("send_message_to_child", {"thread_id": "somebody", "message": "hi"}),
                calls("send_message_to_child", {"thread_id": CHILD, "message": "hurry"}),
                says("told it"),
                says("heard"),
                says("heard"),
            ],
            alpha=[
                calls("report_to_parent", {"report": "working"}),
                says("go on"),
                calls("report_to_parent", {"report": "hurrying"}),
                says("yes"),
            ],
        )
    )
    world.say("look")
    world.settle()
    assert any(text.startswith("Error: this is not an open child") for text in texts(world.thread()))
    assert phrases.message_of_parent("hurry") in texts(world.thread(CHILD))


def test_a_message_to_a_child_that_has_closed_bounces() -> None:
    family = Family(
        root=[spawns("alpha", ["t"]), says("ok"), says("heard"), says("it is gone")],
        alpha=[calls("close_thread", {"thread_id": CHILD})],
    )
    world = World(family)
    world.say("look")
    world.settle()
    late = to_child(CHILD, call_id_at("t", 2), call_id_at("t", 2), "hurry")
    world.ports.queues.send_inputs([late, late])
    world.settle()
    assert [entry.body.source for entry in world.entries if isinstance(entry.body, Event)] == ["report", "bounce"]


def test_closing_closes_everything_below() -> None:
    grandchild = child_id(CHILD, call_id_at(CHILD, 4))
    world = World(
        Family(
            root=[spawns("alpha", ["t"]), says("ok"), says("all over")],
            alpha=[spawns("beta", ["t", CHILD]), calls("close_thread", {"thread_id": CHILD})],
            beta=[calls("run_build", {})],
        )
    )
    world.say("look")
    world.settle()
    assert [world.thread(name).is_open for name in ("t", CHILD, grandchild)] == [True, False, False]
    assert world.thread().family.children == ()


def test_closing_stops_what_threads_below_sleep_on() -> None:
    enough = {"thread_id": CHILD, "message": "enough"}
    world = World(
        Family(
            root=[
                spawns("alpha", ["t"]),
                says("ok"),
                calls("send_message_to_child", enough),
                says("told"),
                says("over"),
            ],
            alpha=[
                spawns("beta", ["t", CHILD]),
                calls("sleep_until_event_or_input"),
                calls("close_thread", {"thread_id": CHILD}),
            ],
            beta=[calls("sleep", {"seconds": 6_000})],
        )
    )
    world.say("look")
    world.settle()
    assert world.system.timers.next_due_ms() is not None

    world.say("that is enough")
    world.settle()

    assert not world.thread(CHILD).is_open
    assert world.system.timers.next_due_ms() is None


def test_a_thread_names_its_own_stack_or_is_told_both() -> None:
    world = World(Family(root=[spawns("alpha", ["t", "x"]), says("sorry")]))
    world.say("look")
    world.settle()
    assert "['t']" in texts(world.thread())[2]
    assert "['t', 'x']" in texts(world.thread())[2]


@pytest.mark.parametrize("limit", ["thread_depth", "live_children", "open_threads"])
def test_depth_and_number_of_threads_are_limited_with_a_result_that_says_so(limit: str) -> None:
    world = World(Family(root=[spawns("alpha", ["t"]), says("sorry")]), (), **{limit: 0})
    world.say("look")
    world.settle()
    assert texts(world.thread())[2].startswith("Error: no thread was started")
    assert world.thread().family.children == ()


def test_a_root_neither_reports_nor_closes() -> None:
    root = [calls("report_to_parent", {"report": "x"}), calls("close_thread", {"thread_id": "t"}), says("well")]
    world = World(Family(root=root))
    world.say("look")
    world.settle()
    errors = [text for text in texts(world.thread()) if text.startswith("Error: this thread has no parent")]
    assert len(errors) == 2


class Noting:
    """The tool servers of a world, and the notices that went to them."""

    def __init__(self, servers: ToolServers) -> None:
        self.manifest = servers.manifest
        self._servers = servers
        self.bodies: list[JsonObject] = []
        self.notices: list[tuple[str, JsonObject]] = []

    def invoke(self, invocation: Invocation, timeout_s: float) -> None:
        self.bodies.append(invocation.body)
        self._servers.invoke(invocation, timeout_s)

    def notify(self, notices: Sequence[Notice]) -> int:
        self.notices += [(notice.path, notice.body) for notice in notices]
        return len(notices)


def test_a_tool_learns_which_threads_stand_above_its_caller_and_which_have_closed() -> None:
    grandchild = child_id(CHILD, call_id_at(CHILD, 4))
    world = World(
        Family(
            root=[spawns("alpha", ["t"]), says("ok"), says("over")],
            alpha=[spawns("beta", ["t", CHILD]), says("wait"), says("wait"), closes(CHILD)],
            beta=[calls("run_build"), says("x")],
        )
    )
    servers = Noting(world.ports.servers)
    world.put_in(servers=servers)
    world.say("look")
    world.settle()
    assert [(body["group_id"], body["thread_ancestors"]) for body in servers.bodies] == [(grandchild, ["t", CHILD])]
    world.ports.queues.send_inputs([to_child(CHILD, call_id_at("t", 2), call_id_at("t", 2), "stop")])
    world.settle()
    assert sorted(str(body["thread_id"]) for _, body in servers.notices) == sorted([CHILD, grandchild])
    assert {path for path, _ in servers.notices} == {"/close_thread"}


def closes(thread_id: str, **arguments: str) -> Completion:
    return calls("close_thread", {"thread_id": thread_id, **arguments})
