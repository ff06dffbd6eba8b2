"""What a completion does to history."""

import json

import pytest

from runtime import phrases
from runtime.draft import Draft
from runtime.identity import call_id_at
from runtime.interpret import Moment, interpret
from runtime.items import plain_text
from runtime.model.entries import AssistantText, Entry, Reasoning, ToolCall, ToolResult
from runtime.model.threads import Thread
from runtime.model.toolsets import OfferedTool, Toolset
from runtime.model.turns import Completion, SaidText, StopReason, Thought, WantedCall
from runtime.tools.builtin import BUILTINS
from runtime.tools.offer import Offer, offer_of
from tests.support.values import (
    LIMITS,
    NOW_MS,
    THREAD,
    USAGE,
    answered,
    asked,
    call_row,
    calls,
    says,
    thread_of,
    tool,
)

MOMENT = Moment(NOW_MS, LIMITS)
BUILD = tool("run_build", {"type": "object", "properties": {"seconds": {"type": "integer"}}, "required": ["seconds"]})


# Every level doubles the work of the one before.
LAUGHS: dict[str, object] = {
    "$defs": {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)} | {"a40": {}},
    "$ref": "#/$defs/a0",
}


def offer() -> Offer:
    return offer_of([Toolset("builds", "http://x/invoke", (OfferedTool(BUILD),))], BUILTINS)


def interpreted(completion: Completion, thread: Thread | None = None) -> Draft:
    return interpret(Draft.of(thread or thread_of(asked())), completion, offer(), MOMENT)


def bodies(draft: Draft) -> list[object]:
    return [entry.body for entry in draft.entries]


def refusal_of(draft: Draft) -> str:
    """Return the error the model is told. Whatever it wrote, nothing is pending and it is asked again."""
    result = draft.entries[-1].body
    assert isinstance(result, ToolResult)
    assert (result.status, draft.asks, dict(draft.calls)) == ("error", True, {})
    return plain_text(result.items)


def test_an_answer_ends_the_turn_and_keeps_how_it_ended() -> None:
    draft = interpreted(says("Hello."))
    (entry,) = draft.entries
    assert isinstance(entry.body, AssistantText)
    assert entry.body.finish is not None
    assert (entry.body.text, entry.body.finish.stop, entry.body.finish.usage) == ("Hello.", "end_turn", USAGE)
    assert not draft.asks


def test_an_asynchronous_call_is_stored_as_pending_under_an_id_of_ours() -> None:
    draft = interpreted(calls("run_build", {"seconds": 5}, text="I build."))
    text, call = bodies(draft)
    call_id = call_id_at(THREAD, 3)
    assert isinstance(call, ToolCall)
    assert (call.call_id, call.arguments) == (call_id, {"seconds": 5})
    row = draft.calls[call_id]
    assert (row.state, row.target.toolset, row.position, row.committed_ms) == ("pending", "builds", 3, NOW_MS)
    assert {entry.turn for entry in draft.entries} == {2}
    assert isinstance(text, AssistantText)
    assert text.finish is None


def test_arguments_in_pieces_are_the_arguments() -> None:
    call = bodies(interpreted(calls("run_build", '{"seconds":' + " 5}")))[0]
    assert isinstance(call, ToolCall)
    assert call.arguments == {"seconds": 5}


def test_a_call_without_any_argument_text_has_none() -> None:
    call = bodies(interpreted(calls("sleep_until_event_or_input", "")))[0]
    assert isinstance(call, ToolCall)
    assert call.arguments == {}


def test_nul_and_lone_surrogates_in_arguments_are_replaced() -> None:
    draft = interpreted(calls("list_activity", '{"a\\u0000": "b\\ud800c"}'))
    call = draft.entries[0].body
    assert isinstance(call, ToolCall)
    assert call.arguments == {"a\ufffd": "b\ufffdc"}


@pytest.mark.parametrize(
    "stop", ["max_tokens", "malformed_tool_use", "model_context_window_exceeded", "end_turn", "unknown"]
)
def test_a_call_is_run_only_when_the_model_stopped_for_it(stop: StopReason) -> None:
    draft = interpreted(calls("run_build", {"seconds": 5}, stop=stop))
    assert refusal_of(draft) == f"Error: this call was cut off ({stop}) and was not run. " + (
        "Issue it again, with shorter arguments."
    )


@pytest.mark.parametrize("written", ["{", '{"seconds": 5', "[1]", '"x"', "5", "nul", "[" * 100_000])
def test_arguments_that_are_no_object_are_refused_and_stored_as_an_empty_one(written: str) -> None:
    draft = interpreted(calls("run_build", written))
    call = draft.entries[0].body
    assert isinstance(call, ToolCall)
    assert call.arguments == {}
    assert "not a JSON object" in refusal_of(draft)


def test_arguments_that_do_not_fit_the_schema_are_refused() -> None:
    assert "'soon' is not of type 'integer'" in refusal_of(interpreted(calls("run_build", {"seconds": "soon"})))


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/none"},
        {"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"properties": {"a": {"multipleOf": 0.01}}},
        LAUGHS,
    ],
)
def test_a_schema_that_cannot_be_applied_is_told_and_ends_nothing(schema: dict[str, object]) -> None:
    odd = offer_of([Toolset("builds", "http://x/invoke", (OfferedTool(tool("odd", schema)),))], ())
    draft = interpret(Draft.of(thread_of(asked())), calls("odd", {"a": 10**400}), odd, MOMENT)
    assert "cannot be checked" in refusal_of(draft)


def test_a_pattern_that_may_never_end_is_left_to_the_tool_server() -> None:
    schema = {"properties": {"a": {"pattern": "^(a+)+$"}}, "patternProperties": {"^(b+)+$": {}}}
    slow = offer_of([Toolset("builds", "http://x/invoke", (OfferedTool(tool("slow", schema)),))], ())
    call = calls("slow", {"a": "a" * 60 + "!", "b" * 60 + "!": 1})
    assert interpret(Draft.of(thread_of(asked())), call, slow, MOMENT).pending_call is not None


def test_arguments_nested_deeper_than_every_edge_takes_are_refused() -> None:
    written = '{"a":' * 50 + '"\U0001f600"' + "}" * 50
    draft = interpreted(calls("run_build", f'{{"seconds": 1, "a": {written}}}'))
    assert "not a JSON object" in refusal_of(draft)


def test_an_unknown_tool_costs_one_more_completion() -> None:
    assert 'no tool named "fly"' in refusal_of(interpreted(calls("fly", {})))


def test_a_reserved_name_that_is_not_offered_is_refused() -> None:
    assert "cannot be called" in refusal_of(interpreted(calls("receive_event__injected", {})))


@pytest.mark.parametrize("name", ["click(url=x)", "", "a" * 65, "fs.read", "Complete Session"])
def test_a_name_no_provider_would_take_back_is_told_but_not_stored(name: str) -> None:
    draft = interpreted(calls(name, {}))
    call = draft.entries[0].body
    assert isinstance(call, ToolCall)
    assert call.name == "invalid_tool_name"
    assert "no tool named" in refusal_of(draft)


def test_of_several_calls_the_first_is_run_and_the_others_are_named() -> None:
    parts = (
        SaidText("Both."),
        WantedCall("t1", "run_build", '{"seconds": 1}'),
        WantedCall("t2", "run_build", '{"seconds": 2}'),
        SaidText("And more."),
    )
    draft = interpreted(Completion(parts, "tool_use", USAGE))
    text, call = bodies(draft)
    assert isinstance(call, ToolCall)
    assert (call.arguments, call.not_run) == ({"seconds": 1}, ("run_build",))
    assert text == AssistantText("Both.")


def test_a_turn_without_words_is_stored_empty() -> None:
    assert [getattr(body, "text", None) for body in bodies(interpreted(says(stop="end_turn")))] == [""]


def test_blank_text_is_not_stored_beside_something_else() -> None:
    draft = interpreted(says("  \n", "Hello."))
    assert [getattr(body, "text", None) for body in bodies(draft)] == ["Hello."]


def test_reasoning_stays_in_front_of_what_it_belongs_to() -> None:
    parts = (Thought("hm", "sig"), SaidText("Yes."))
    thought, text = bodies(interpreted(Completion(parts, "end_turn", USAGE)))
    assert thought == Reasoning("hm", "sig")
    assert isinstance(text, AssistantText)


def test_reasoning_in_front_of_nothing_is_not_stored() -> None:
    draft = interpreted(Completion((SaidText("Yes."), Thought("hm", "sig")), "end_turn", USAGE))
    assert [type(body) for body in bodies(draft)] == [AssistantText]


def test_reasoning_that_nobody_signed_is_not_stored_for_no_provider_takes_it_back() -> None:
    draft = interpreted(Completion((Thought("hm", None), SaidText("Yes.")), "end_turn", USAGE))
    assert [type(body) for body in bodies(draft)] == [AssistantText]


def test_reasoning_alone_is_a_turn_without_words() -> None:
    draft = interpreted(Completion((Thought("hm", "sig"),), "end_turn", USAGE))
    assert [getattr(body, "text", None) for body in bodies(draft)] == [""]


@pytest.mark.parametrize("stop", ["max_tokens", "model_context_window_exceeded"])
def test_an_answer_that_was_cut_says_so(stop: StopReason) -> None:
    draft = interpreted(says("Once upon", stop=stop))
    assert [getattr(body, "text", None) for body in bodies(draft)] == ["Once upon", phrases.CUT_OFF]
    assert not draft.asks


def test_an_answer_that_a_filter_took_whole_is_stored_as_withheld() -> None:
    draft = interpreted(says(stop="content_filtered"))
    assert [getattr(body, "text", None) for body in bodies(draft)] == [phrases.WITHHELD_OUTPUT]


def test_a_call_in_an_answer_that_a_filter_ended_is_neither_run_nor_asked_for_again() -> None:
    draft = interpreted(calls("run_build", {"seconds": 5}, stop="content_filtered"))
    assert [getattr(body, "text", None) for body in bodies(draft)] == [phrases.WITHHELD_OUTPUT]
    assert not draft.asks


def test_a_detached_call_of_ones_own_can_be_cancelled() -> None:
    thread = thread_of(asked(), answered(), asked(), calls=[call_row("call_1", "detached")])
    draft = interpreted(calls("cancel_tool_call", {"tool_call_id": "call_1"}), thread)
    result = draft.entries[-1].body
    assert isinstance(result, ToolResult)
    assert result.cancelled is not None
    assert (result.cancelled.toolset, draft.calls["call_1"].state) == ("builds", "cancelled")


def test_a_call_that_is_not_running_cannot_be_cancelled() -> None:
    thread = thread_of(asked(), answered(), asked(), calls=[call_row("call_1", "answered"), call_row("c2", "detached")])
    text = refusal_of(interpreted(calls("cancel_tool_call", {"tool_call_id": "call_1"}), thread))
    assert text.endswith("Those are: c2.")


def test_running_calls_are_listed() -> None:
    thread = thread_of(asked(), answered(), asked(), calls=[call_row("call_1", "detached"), call_row("c2", "failed")])
    draft = interpreted(calls("list_activity"), thread)
    text = _result_text(draft.entries[-1])
    assert "call_1" in text
    assert "c2" not in text


def test_an_idle_agent_is_told_where_it_is_and_that_nothing_goes_on() -> None:
    told = json.loads(_result_text(interpreted(calls("list_activity")).entries[-1]))
    assert (told.pop("thread_id"), told.pop("stack")) == ("thread-1", ["thread-1"])
    assert told == {"running_tool_calls": [], "subscriptions": [], "open_threads": []}


def test_waiting_for_anything_is_a_call_that_nobody_is_handed() -> None:
    draft = interpreted(calls("sleep_until_event_or_input"))
    (call,) = draft.calls.values()
    assert (call.state, call.target.toolset, call.target.on_interrupt) == ("pending", None, "end")


def _result_text(entry: Entry) -> str:
    assert isinstance(entry.body, ToolResult)
    return plain_text(entry.body.items)
