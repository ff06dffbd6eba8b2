"""The most that anybody can say, in the characters that take most room: it is stored, told and sent, never refused."""

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from runtime import phrases
from runtime.adapters.aws.dsql_commit import commit_statements
from runtime.adapters.aws.dsql_limits import MAX_ROWS, require_storable
from runtime.adapters.aws.dsql_statements import for_schema
from runtime.adapters.aws.sqs import MESSAGE_LIMIT_BYTES
from runtime.adapters.memory.payloads import MemoryPayloads
from runtime.arrival import arrived
from runtime.draft import Draft
from runtime.effects import Outputs, SendInputs, effects_after
from runtime.giving_up import withhold
from runtime.interpret import Moment, interpret
from runtime.items import json_bytes, plain_text
from runtime.model.after import after
from runtime.model.entries import AssistantText, Body, Event, JsonObject, Reasoning, ToolCall, ToolResult, UserText
from runtime.model.messages import EventContent, Message, MessageKey, ResultContent
from runtime.model.threads import Birth, Child, Commit, Family, Inherited, Thread
from runtime.model.toolsets import OfferedTool, Toolset
from runtime.model.turns import Completion, SaidText, StopReason, Thought, WantedCall
from runtime.prepare import prepare
from runtime.run import Run
from runtime.tools.builtin import BUILTINS
from runtime.tools.offer import offer_of
from runtime.wire.messages import message_body
from runtime.wire.outputs import output_body
from tests.support.pictures import image_item, png
from tests.support.samples import KEY
from tests.support.values import (
    LIMITS,
    NOW_MS,
    THREAD,
    USAGE,
    asked,
    call_row,
    called,
    result_message,
    text_message,
    thread_of,
    tool,
)
from tests.support.world import World

# Six bytes in a row for one of UTF-8; two; three; four, which are twelve in ASCII JSON.
CHARACTERS = pytest.mark.parametrize("character", ["\x01", '"', "\u4e2d", "\U0001f600"], ids=ascii)
OFFER = offer_of([Toolset("builds", "http://x/invoke", (OfferedTool(tool("run_build")),))], BUILTINS)
METADATA = {"note": "\U0001f600" * 2_700}  # within the 32 KiB that are accepted


def stored(commit: Commit) -> None:
    require_storable(commit, list(commit_statements(for_schema("infinity"), commit)))


def told(thread: Thread, commit: Commit) -> None:
    """Every output and message of the commit fits its queue."""
    bodies = []
    for effect in effects_after(after(thread, commit), thread.row.head):
        if isinstance(effect, Outputs):
            bodies += [output_body(output) for output in effect.outputs]
        if isinstance(effect, SendInputs):
            bodies += [message_body(message, KEY) for message in effect.messages]
    assert bodies
    assert max(len(body.encode()) for body in bodies) <= MESSAGE_LIMIT_BYTES


def prepared(thread: Thread, messages: Iterable[Message]) -> Draft:
    """The draft of a delivery as a slice makes it."""
    payloads = MemoryPayloads()
    return prepare(thread, [arrived(message, payloads, LIMITS) for message in messages], NOW_MS, LIMITS)


def result(call_id: str, text: str, images: int = 0) -> Message:
    """A result by reference, as large as a callback may be."""
    items = result_message(call_id, text).content
    assert isinstance(items, ResultContent)
    content = ResultContent(call_id, (*items.items * 4, *[image_item(png())] * images))
    return Message(THREAD, MessageKey("tool_result", f"result:{call_id}"), content, "")


@CHARACTERS
def test_a_delivery_of_the_largest_messages_is_one_commit(character: str) -> None:
    arguments = {"text": character * 40_000}
    names = [f"call_{number}" for number in range(1, 10)]
    calls = [call_row(name, "detached", position=2) for name in names]
    thread = thread_of(asked(), called("call_1", arguments=arguments), calls=calls)
    text = text_message(character * 300_000, metadata=METADATA, sent_ms=1)
    draft = prepared(thread, [text, *(result(name, character * 110_000, images=30) for name in names)])
    assert sum(isinstance(entry.body, Event) for entry in draft.entries) == 9
    stored(commit := draft.commit("c"))
    told(thread, commit)


@CHARACTERS
def test_the_largest_events_that_begin_threads_are_one_commit(character: str) -> None:
    call = call_row("call_1", "subscribed")
    thread = thread_of(asked(), called("call_1"), calls=[call])
    items = result("call_1", character * 110_000).content
    assert isinstance(items, ResultContent)
    events = [
        Message(THREAD, MessageKey("subscription_event", f"event:call_1:{n}"), EventContent("call_1", items.items), "")
        for n in range(10)
    ]
    draft = prepared(thread, events)
    assert len(draft.created) == 10
    stored(draft.commit("c"))


def completed(*parts: SaidText | Thought | WantedCall, thread: Thread | None = None) -> Draft:
    stop: StopReason = "tool_use" if isinstance(parts[-1], WantedCall) else "end_turn"
    completion = Completion(parts, stop, USAGE)
    return interpret(Draft.of(thread or thread_of(asked())), completion, OFFER, Moment(NOW_MS, LIMITS))


def wanted(name: str, arguments: JsonObject) -> WantedCall:
    return WantedCall("toolu-1", name, json.dumps(arguments))


@CHARACTERS
def test_the_longest_answer_is_one_commit_and_is_told_in_parts(character: str) -> None:
    draft = completed(Thought(character * 600_000, "signed"), SaidText(character * 600_000))
    (entry,) = draft.entries  # what is signed is left out: it may not be cut
    assert isinstance(entry.body, AssistantText)
    assert "\n[Cut: the first" in entry.body.text
    stored(commit := draft.commit("c"))
    told(draft.thread, commit)


def test_reasoning_that_fits_a_row_is_kept_as_it_came() -> None:
    (thought, _) = completed(Thought("\x01" * 80_000, "signed"), SaidText("Hello.")).entries
    assert thought.body == Reasoning("\x01" * 80_000, "signed")


@CHARACTERS
def test_a_call_whose_arguments_cannot_be_handed_over_is_refused_and_the_model_reads_why(character: str) -> None:
    draft = completed(wanted("run_build", {"text": character * 300_000}))
    call, answer = (entry.body for entry in draft.entries)
    assert isinstance(call, ToolCall)
    assert isinstance(answer, ToolResult)
    assert (call.arguments, answer.status, draft.calls) == ({}, "error", {})
    assert "and at most 262,144 can be handed over" in plain_text(answer.items)
    stored(draft.commit("c"))


def in_a_family(*bodies: Body) -> Thread:
    """A thread with a parent and a child. Of its history, the first entry is inherited."""
    thread = thread_of(*bodies)
    birth = Birth("spawned", (Inherited("parent", 1),), "call_1", "its task")
    row = replace(thread.row, root_id="parent", birth=birth)
    child = Child("child", Birth("spawned", (*birth.lineage, Inherited(THREAD, 2)), "call_2", "its task"))
    return replace(thread, row=row, family=Family(children=(child,)))


WORDS: dict[str, JsonObject] = {
    "report_to_parent": {"report": ...},
    "close_thread": {"thread_id": THREAD, "report_to_parent": ...},
    "spawn_thread": {"instructions": ..., "child_of": ["parent", THREAD]},
    "send_message_to_child": {"thread_id": "child", "message": ...},
}


@CHARACTERS
@pytest.mark.parametrize("name", WORDS)
def test_the_longest_word_from_thread_to_thread_is_stored_and_fits_a_message(name: str, character: str) -> None:
    word = character * min(60_000, 260_000 // json_bytes(character))
    arguments = {key: word if value is ... else value for key, value in WORDS[name].items()}
    draft = completed(wanted(name, arguments), thread=in_a_family(asked(), asked()))
    answer = draft.entries[-1].body
    assert isinstance(answer, ToolResult)
    assert answer.deed is not None
    stored(commit := draft.commit("c"))
    told(draft.thread, commit)


def test_the_text_of_a_turn_that_is_sent_as_a_report_fits_a_message() -> None:
    thread = in_a_family(asked(), asked(), UserText(phrases.REPORT_OR_CLOSE))
    draft = completed(SaidText("\U0001f600" * 200_000), thread=thread)
    answer = draft.entries[-1].body
    assert isinstance(answer, AssistantText)
    assert answer.reports
    stored(commit := draft.commit("c"))
    told(thread, commit)


def test_more_rows_than_one_commit_takes_are_withheld_in_several() -> None:
    world = World()
    run = Run(world.system.workers.idle.get(), world.clock.now_ms() + 300_000, 1)
    thread = thread_of(*[asked()] * (MAX_ROWS + 500))
    commit = withhold(Draft.of(thread), "model_refused", run)
    stored(commit)
    second = withhold(Draft.of(after(thread, commit)), "model_refused", run)
    assert len(frozenset(commit.withheld + second.withheld)) == MAX_ROWS + 500
