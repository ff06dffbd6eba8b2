"""What the outside is told of a commit."""

from dataclasses import replace

from runtime.effects import Effect, HandOver, Outputs, StartTimer, TellCancelled, effects_after
from runtime.model.calls import CallState, CallTarget
from runtime.model.entries import AssistantText, CancelledCall, Event, Finish, TextItem, ToolResult
from runtime.model.outputs import Output
from runtime.model.threads import GaveUp, Thread
from runtime.phrases import cut_note
from runtime.wire.outputs import output_body
from tests.support.values import THREAD, USAGE, answered, asked, call_row, called, thread_of


def outputs(effects: tuple[Effect, ...]) -> list[Output]:
    return [output for effect in effects if isinstance(effect, Outputs) for output in effect.outputs]


def told(thread: Thread, performed: int = 0) -> list[tuple[str, int | None]]:
    return [(output.type, output.seq) for output in outputs(effects_after(thread, performed))]


def test_an_answer_is_a_text_and_the_end_of_the_turn() -> None:
    assert told(thread_of(asked(), answered())) == [("text", 32), ("turn_done", 47)]


def test_a_turn_without_words_only_ends() -> None:
    assert told(thread_of(asked(), AssistantText("", Finish("end_turn", USAGE)))) == [("turn_done", 47)]


def test_text_in_front_of_a_call_does_not_end_the_turn() -> None:
    thread = thread_of(asked(), AssistantText("I build."), called("call_1"), calls=[call_row("call_1", position=3)])
    assert told(thread) == [("text", 32), ("tool_call", 48)]


def test_what_a_filter_ended_is_an_error_too() -> None:
    thread = thread_of(asked(), AssistantText("(withheld)", Finish("content_filtered", USAGE)))
    assert [type_ for type_, _ in told(thread)] == ["text", "error", "turn_done"]


def test_results_and_events_show_what_their_tool_wants_displayed() -> None:
    result = ToolResult("call_1", (TextItem("raw"),), display_as="nice")
    event = Event("call_1", "run_build", {}, (TextItem("raw"), TextItem("more")), "result:call_1", "late_result")
    shown = [output.fields for output in outputs(effects_after(thread_of(asked(), result, event), 1))]
    assert shown == [{"display": "nice"}, {"display": "raw\nmore"}]


def test_output_ids_differ_and_are_the_same_each_time() -> None:
    thread = thread_of(asked(), answered(), asked(), answered())
    first, second = outputs(effects_after(thread, 0)), outputs(effects_after(thread, 0))
    assert first == second
    assert len({output.output_id for output in first}) == len(first) == 4


def test_outputs_carry_the_metadata_of_the_root() -> None:
    thread = thread_of(asked(), answered())
    person = replace(thread.row.person, metadata={"tenant": "x"})
    known = replace(thread, row=replace(thread.row, person=person))
    assert {str(output.metadata) for output in outputs(effects_after(known, 0))} == {"{'tenant': 'x'}"}


def test_only_what_is_behind_performed_is_owed() -> None:
    assert told(thread_of(asked(), answered(), asked(), answered()), performed=2) == [("text", 64), ("turn_done", 79)]


def handed_over(state: CallState, target: CallTarget | None = None) -> list[str]:
    row = call_row("call_1", state) if target is None else call_row("call_1", state, target)
    effects = effects_after(thread_of(asked(), called("call_1"), calls=[row]), 0)
    return [effect.call.call_id for effect in effects if isinstance(effect, HandOver)]


def test_a_call_that_waits_is_handed_over() -> None:
    assert [handed_over("pending"), handed_over("detached")] == [["call_1"], ["call_1"]]


def test_a_call_that_is_answered_is_not_handed_over_again() -> None:
    states: list[CallState] = ["answered", "subscribed", "failed", "cancelled", "ended"]
    assert [handed_over(state) for state in states] == [[]] * 5


def test_a_wait_is_handed_to_nobody() -> None:
    assert handed_over("pending", CallTarget(None, None, "end")) == []


def test_outputs_come_before_the_hand_over_that_may_be_answered_at_once() -> None:
    thread = thread_of(asked(), called("call_1"), calls=[call_row("call_1")])
    assert [type(effect) for effect in effects_after(thread, 0)] == [Outputs, HandOver]


def test_a_cancelled_call_is_told_to_its_server() -> None:
    result = ToolResult("call_2", (TextItem("ok"),), cancelled=CancelledCall("call_1", "builds"))
    effects = effects_after(thread_of(asked(), called("call_2"), result), 2)
    assert [e.cancelled.call_id for e in effects if isinstance(e, TellCancelled)] == ["call_1"]


def test_a_giving_up_is_an_error_and_a_timer_that_asks_again() -> None:
    thread = thread_of(asked())
    gave_up = GaveUp("user:1", "model_unavailable", "Later.", attempt=1, wake_due_ms=5_000)
    row = replace(thread.row, version=7, gave_up=gave_up)
    error, timer = effects_after(replace(thread, row=row), 1)
    assert isinstance(error, Outputs)
    assert error.outputs[0].fields == {"code": "model_unavailable", "message": "Later.", "retrying": False}
    assert isinstance(timer, StartTimer)
    assert (timer.timer.message.key.message_id, timer.timer.due_ms) == (f"wake:{THREAD}:7", 5_000)


def test_an_answer_too_long_for_one_message_goes_out_in_parts_that_fit() -> None:
    text = "".join(chr(0x1F600 + number % 50) for number in range(200_000))
    effects = effects_after(thread_of(asked(), AssistantText(text, Finish("end_turn", USAGE))), 0)
    *parts, done = outputs(effects)
    assert "".join(str(part.fields["text"]) for part in parts) == text
    assert [output.seq for output in (*parts, done)] == [32, 33, 34, 47]
    assert max(len(output_body(part)) for part in parts) < 1_048_576 - 64 * 1024


def test_of_very_large_arguments_only_the_size_is_shown() -> None:
    thread = thread_of(asked(), called("call_1", arguments={"a": "x" * 300_000}))
    (output,) = outputs(effects_after(thread, 1))
    assert output.fields == {"name": "run_build", "arguments": {"not_shown": "300009 characters of arguments"}}


def test_of_a_long_result_a_person_is_shown_the_beginning() -> None:
    effects = effects_after(thread_of(asked(), ToolResult("call_1", (TextItem("x" * 100_000),))), 1)
    assert str(outputs(effects)[0].fields["display"]).endswith(cut_note(20_000, 100_000))
