"""What scripts/inspect makes of rows, whatever shows it."""

from dataclasses import replace
from typing import Any

import pytest

from runtime.model.calls import CallTarget
from runtime.model.entries import (
    AssistantText,
    Body,
    CancelledCall,
    Closed,
    Entry,
    Event,
    ImageItem,
    PayloadRef,
    Reasoning,
    Reported,
    Spawned,
    StoppedTimer,
    TextItem,
    ToldChild,
    ToolCall,
    ToolResult,
    Usage,
    UserText,
)
from runtime.model.messages import MessageKey
from runtime.model.threads import GaveUp
from runtime.ports import Progress
from scripts.inspection.moments import moment_of
from scripts.inspection.pending import pending_view
from scripts.inspection.reading import AskingThread, CallOf, Consumed
from scripts.inspection.stores import Beside, OpenChoice, QueueDepth
from scripts.inspection.views import tree_view
from tests.support.inspected import child, seen, stored
from tests.support.values import NOW_MS, USAGE, answered, asked, call_row, called


def result(call_id: str, text: str = "done", **others: Any) -> ToolResult:
    return replace(ToolResult(call_id, (TextItem(text),)), **others)


@pytest.mark.parametrize(
    ("body", "who", "text", "notes"),
    [
        (UserText("hello", "user:1"), "user", "hello", ()),
        (UserText("report or close"), "runtime", "report or close", ()),
        (AssistantText(""), "agent", "(no reply)", ()),
        (AssistantText("bye", reports=True, closes=True), "agent", "bye", ("reported to its parent", "closed")),
        (Reasoning(text="hm"), "thinks", "hm", ()),
        (Reasoning(redacted="aGk="), "thinks", "(not readable)", ()),
        (ToolCall("c", "build", {"über": 1}, not_run=("a", "b")), "calls", 'build {"über": 1}', ("not run: a, b",)),
        (ToolResult("c", (TextItem("a"), ImageItem("", "image/png"))), "result", "a\n(image/png image)", ()),
        (
            ToolResult("c", (ImageItem("", "image/png", PayloadRef("t/1", 1_024)),)),
            "result",
            "(image/png image of 1,024 bytes, kept as t/1)",
            (),
        ),
        (result("c", status="error"), "result", "done", ("error",)),
        (result("c", cancelled=CancelledCall("c", "x")), "result", "done", ("its server is told to stop",)),
        (result("c", deed=Spawned("x", "do")), "result", "done", ("child x begins",)),
        (result("c", deed=ToldChild("x", "c", "do")), "result", "done", ("child x is told",)),
        (result("c", deed=Reported("found")), "result", "done", ("reported to its parent",)),
        (result("c", deed=Closed("")), "result", "done", ("closed",)),
        (result("c", deed=StoppedTimer("c")), "result", "done", ("its timer is stopped",)),
        (Event("c", "build", {}, (TextItem("ok"),), "x", "late_result"), "event", "build: ok", ("late result",)),
    ],
)
def test_an_entry_is_told_as_who_did_what(body: Body, who: str, text: str, notes: tuple[str, ...]) -> None:
    moment = moment_of(Entry(3, 2, body, NOW_MS), {})
    assert (moment.who, moment.text, moment.notes) == (who, text, notes)


def test_an_entry_that_the_model_is_not_shown_says_why() -> None:
    moment = moment_of(Entry(1, 1, asked("bad"), NOW_MS, "died"), {})
    assert (moment.text, moment.notes, moment.troubled) == ("bad", ("withheld from the model: died",), True)


def test_an_entry_bears_the_version_of_the_commit_that_took_its_message_in() -> None:
    consumed = [Consumed(1, "text", "user:1"), Consumed(3, "wake", "wake:t:2")]
    keys = frozenset(MessageKey(each.type, each.message_id) for each in consumed)
    beside = Beside(Progress({MessageKey("text", "user:1"): "hash"}), keys, (), ())
    view = seen(stored(asked(), answered(), consumed=consumed), beside)
    assert [moment.version for moment in view.moments] == [1, None]
    assert [(each.version, each.messages, each.positions, each.handled) for each in view.commits] == [
        (1, ("text user:1",), (1,), True),
        (3, ("wake wake:t:2",), (), False),
    ]


def test_nothing_is_said_of_receipts_that_were_not_looked_up() -> None:
    view = seen(stored(asked(), consumed=[Consumed(1, "text", "user:1")]))
    assert [commit.handled for commit in view.commits] == [None]


def test_a_call_took_as_long_as_its_last_answer_which_a_placeholder_is_not() -> None:
    late = Event("c", "run_build", {}, (TextItem("built"),), "result:c", "late_result")
    bodies = (asked(), called("c"), result("c", "still running"), late)
    thread = stored(*bodies, calls=[call_row("c", "answered")])
    entries = tuple(replace(entry, created_ms=NOW_MS + 1_000 * entry.position) for entry in thread.entries)
    assert seen(replace(thread, entries=entries)).calls[0].answered_ms == NOW_MS + 4_000
    detached = replace(thread, entries=entries[:3], calls=(call_row("c", "detached"),))
    assert seen(detached).calls[0].answered_ms is None


def test_tokens_are_summed_over_all_completions_also_those_whose_entries_are_not_shown() -> None:
    thread = stored(asked(), called("c"), result("c"), answered())
    view = seen(replace(thread, entries=thread.entries[-1:]))
    assert view.node.tokens == Usage(2 * USAGE.input_tokens, 2 * USAGE.output_tokens)
    assert [turn.turn for turn in view.turns] == [2, 4]
    assert (view.earlier_entries, view.node.completions) == (3, 2)


def test_a_tree_has_what_is_below_a_thread_directly_behind_it_and_the_older_first() -> None:
    root = stored(asked(), answered(), thread_id="r", root_id="r")
    old, new = child("old", root.row, asked()), replace(child("new", root.row, asked()), first_ms=NOW_MS + 1)
    grandchild = replace(child("below", old.row, asked()), first_ms=NOW_MS + 2)
    tree = tree_view([root, new, old, grandchild], limit=10)
    assert [node.thread_id for node in tree.nodes] == ["r", "old", "below", "new"]
    assert (tree.is_cut, tree.tokens) == (False, USAGE)
    assert tree_view([root, new, old, grandchild], limit=3).is_cut


def test_what_is_waited_for_is_told_oldest_first_and_cut_at_the_limit() -> None:
    later_ms = NOW_MS + 5_000
    pending = CallOf("a", call_row("c1"))
    detached = CallOf("b", replace(call_row("c2", "detached"), committed_ms=later_ms))
    sleep = call_row("c3", target=CallTarget(None, None, "end"))
    sleeping = CallOf("s", replace(sleep, committed_ms=later_ms, due_ms=NOW_MS + 9))
    failed = CallOf("f", replace(call_row("c4", "failed"), committed_ms=NOW_MS - 1))
    told = GaveUp("user:1", "model_unavailable", "", 2, NOW_MS + 7)
    asking = [
        AskingThread(stored(asked(), thread_id="q").row, "user", NOW_MS + 1),
        AskingThread(stored(asked(), thread_id="g", gave_up=told).row, "user", NOW_MS + 2),
    ]
    choice = OpenChoice("f", "choice-1", "c4", "Which?", ("a", "b"), 0)
    everything = pending_view([pending, detached, sleeping], [failed], asking, [choice], [], limit=10)
    assert [(wait.kind, wait.thread_id, wait.due_ms) for wait in everything.waits] == [
        ("choice", "f", None),
        ("tool", "a", None),
        ("asks the model", "q", None),
        ("gave up", "g", NOW_MS + 7),
        ("detached tool", "b", None),
        ("sleep", "s", NOW_MS + 9),
    ]
    assert everything.waits[3].what == "model_unavailable, try 2"
    first = pending_view([pending, detached, sleeping], [failed], asking, [choice], [], limit=2)
    assert ([wait.thread_id for wait in first.waits], first.is_cut, everything.is_cut) == (["f", "a"], True, False)


@pytest.mark.parametrize(
    ("name", "waiting", "holds"),
    [("InputDeadLetterQueueUrl", 1, True), ("InputDeadLetterQueueUrl", 0, False), ("InputQueueUrl", 1, False)],
)
def test_only_a_dead_letter_waits_for_somebody_to_act(name: str, waiting: int, holds: bool) -> None:
    assert QueueDepth(name, waiting, 0, 0).holds_given_up is holds
