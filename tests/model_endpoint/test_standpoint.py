"""Threads of a conversation: whose script decides, and what only its seeds can tell it."""

import json

from runtime import phrases
from scripts.offline_stack.model_endpoint.document import JsonObject
from tests.model_endpoint.support import Served, answered, assistant, body, text, tool, use, user

TOOLS: JsonObject = {
    "toolConfig": {"tools": [tool("spawn_thread"), tool("close_thread"), tool("watch", events="number")]}
}
TASK = [{"call": "close_thread", "input": {"thread_id": "<self>", "report": "heard <news>", "stack": "<stack>"}}]


def script(content: object) -> str:
    return f"Go on. [[script: {json.dumps(content)}]]"


def spawning(*stack: str) -> JsonObject:
    return assistant(use("call_1", "spawn_thread", {"child_of": list(stack), "instructions": script(TASK)}))


def asked(*messages: JsonObject) -> JsonObject:
    return body(*messages, **TOOLS)


def test_a_thread_follows_the_script_of_its_task_and_knows_itself_by_its_seeds(served: Served) -> None:
    inside = answered("call_1", phrases.you_are_inside("child", script(TASK)))
    turns = script({"turns": [[{"say": "not mine"}], [{"say": "nor this"}]]})
    ((name, arguments),) = served.called(asked(user(text(turns)), spawning("root"), user(inside)))
    assert (name, json.loads(arguments)["thread_id"], json.loads(arguments)["stack"]) == (
        "close_thread",
        "child",
        ["root", "child"],
    )


def test_a_thread_does_what_its_task_asks_for_in_plain_words(served: Served) -> None:
    inside = answered("call_1", phrases.you_are_inside("child", "Please watch 3 events."))
    ((name, arguments),) = served.called(asked(user(text("Begin.")), spawning("root"), user(inside)))
    assert (name, json.loads(arguments)) == ("watch", {"events": 3})


def test_the_script_of_a_task_is_handed_on_as_it_is(served: Served) -> None:
    inner = script([{"say": "<self> <news>"}])
    spawn = {"call": "spawn_thread", "input": {"instructions": inner, "child_of": ["root"]}}
    ((_, arguments),) = served.called(asked(user(text(script([spawn])))))
    assert json.loads(arguments)["instructions"] == inner


def test_a_thread_knows_those_it_has_started_and_its_calls(served: Served) -> None:
    started = answered("call_1", phrases.thread_started("first"))
    turns = script({"turns": [[], [{"say": "<child 1>, <child 2>, <call spawn_thread>, <self>"}]]})
    said = served.said(asked(user(text(turns)), spawning("root"), user(started)))
    assert said == "first, <child 2>, call_1, <self>"


def test_a_thread_that_inherits_nothing_knows_its_own_id(served: Served) -> None:
    alone = phrases.task_alone("alone", script([{"say": "I am <self>."}]))
    assert served.said(asked(user(text(alone)))) == "I am alone."


def test_the_thread_of_an_event_plays_turns_of_its_own(served: Served) -> None:
    watching = script({"turns": [[{"call": "watch"}], [{"say": "done"}]], "events": [[{"say": "I read: <news>"}]]})
    injected: JsonObject = {"original_tool_name": "watch", "original_tool_call_id": "call_1", "original_args": {}}
    said = served.said(
        asked(
            user(text(watching)),
            assistant(use("call_1", "watch")),
            user(answered("call_1", "Watching.")),
            assistant(text("done"), use("seed_1", "spawn_thread", {"child_of": ["root"], "instructions": "one"})),
            user(answered("seed_1", phrases.inside_event("event"))),
            assistant(use("evt_1", "receive_event__injected", injected)),
            user(answered("evt_1", "Tick 1.")),
        )
    )
    assert said == "I read: Tick 1."
