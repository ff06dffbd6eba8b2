"""A stream of events as one turn, also where the stream is not what the documentation says."""

import base64
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.adapters.aws.bedrock_stream import Event, read_completion
from runtime.errors import ModelUnavailable
from runtime.model.entries import Usage
from runtime.model.turns import Completion, Part, SaidText, Thought, WantedCall

END: Event = {"messageStop": {"stopReason": "end_turn"}}


def delta(content: object, index: int = 0) -> Event:
    return {"contentBlockDelta": {"delta": content, "contentBlockIndex": index}}


def text(piece: str, index: int = 0) -> Event:
    return delta({"text": piece}, index)


def begins(name: str, call_id: str = "t1", index: int = 0, **more: str) -> Event:
    use = {"toolUseId": call_id, "name": name, **more}
    return {"contentBlockStart": {"start": {"toolUse": use}, "contentBlockIndex": index}}


def argument(piece: str, index: int = 0) -> Event:
    return delta({"toolUse": {"input": piece}}, index)


def thought(index: int = 0, **member: object) -> Event:
    return delta({"reasoningContent": member}, index)


def ends(index: int = 0) -> Event:
    return {"contentBlockStop": {"contentBlockIndex": index}}


def parts(*events: Event) -> Sequence[Part]:
    return read_completion([*events, END]).parts


def test_arguments_in_pieces_are_joined() -> None:
    assert parts(begins("get_time"), argument('{"city":'), argument(' "Paris"}'), ends()) == (
        WantedCall("t1", "get_time", '{"city": "Paris"}'),
    )


@pytest.mark.parametrize("events", [[], [argument("")]])
def test_a_call_without_arguments_reads_as_an_empty_object(events: list[Event]) -> None:
    assert parts(begins("list"), *events, ends()) == (WantedCall("t1", "list", "{}"),)


def test_text_needs_no_start_event() -> None:
    assert parts(text("Hel"), text("lo"), ends()) == (SaidText("Hello"),)


def test_blocks_that_grow_side_by_side_are_kept_apart() -> None:
    events = [
        text("a", 0),
        begins("x", "t1", 1),
        text("b", 0),
        argument("{", 1),
        begins("y", "t2", 2),
        argument("}", 1),
    ]
    assert parts(*events) == (SaidText("ab"), WantedCall("t1", "x", "{}"), WantedCall("t2", "y", "{}"))


def test_calls_under_one_index_and_one_id_stay_two_calls() -> None:
    events = [begins("x"), argument('{"n":1}'), begins("x"), argument('{"n":2}')]
    assert parts(*events) == (WantedCall("t1", "x", '{"n":1}'), WantedCall("t1", "x", '{"n":2}'))


def test_a_block_after_the_end_of_its_index_is_a_new_block() -> None:
    assert parts(text("a"), ends(), text("b"), ends()) == (SaidText("a"), SaidText("b"))


def test_empty_text_is_no_part() -> None:
    assert parts(text(""), ends()) == ()


def test_a_call_whose_start_never_came_is_kept_without_a_name() -> None:
    assert parts(argument('{"a":1}')) == (WantedCall("", "", '{"a":1}'),)


def test_a_tool_that_the_provider_runs_itself_is_not_wanted_of_us() -> None:
    assert parts(begins("search", type="server_tool_use"), argument("{}"), ends(), text("Found.")) == (
        SaidText("Found."),
    )


def test_reasoning_is_joined_with_its_signature() -> None:
    assert parts(thought(text="Hm, "), thought(text="yes."), thought(signature="c2ln"), ends()) == (
        Thought("Hm, yes.", "c2ln"),
    )


def test_reasoning_whose_text_is_kept_back_is_kept_for_its_signature() -> None:
    assert parts(thought(text=""), thought(signature="c2ln"), ends()) == (Thought("", "c2ln"),)


def test_redacted_reasoning_becomes_base64() -> None:
    events = [thought(redactedContent=b"\x00\x01"), thought(redactedContent=b"\xff")]
    assert parts(*events) == (Thought(None, None, base64.b64encode(b"\x00\x01\xff").decode()),)


def test_characters_no_store_keeps_are_replaced() -> None:
    events = [text("a\x00b\ud83d"), begins("x\x00", "t\x00", 1), argument('"\ud800"', 1)]
    assert parts(*events) == (SaidText("a\ufffdb\ufffd"), WantedCall("t\ufffd", "x\ufffd", '"\ufffd"'))


def test_reasoning_that_could_not_be_given_back_unchanged_is_dropped() -> None:
    assert parts(thought(text="a\x00"), thought(signature="c2ln"), ends(), text("b", 1)) == (SaidText("b"),)


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"messageStart": {"role": "assistant"}},
        {"somethingNew": {"a": 1}},
        {"contentBlockStart": {"start": {"image": {"format": "png"}}, "contentBlockIndex": 1}},
        {"contentBlockStart": {"start": {"SDK_UNKNOWN_MEMBER": {"name": "hologram"}}, "contentBlockIndex": 1}},
        delta({"citation": {"title": "x"}}, 1),
        delta({"SDK_UNKNOWN_MEMBER": {"name": "hologram"}}, 1),
        ends(9),
        {"metadata": {"metrics": {"latencyMs": 3}}},
    ],
)
def test_kinds_of_events_and_blocks_that_are_not_known_are_passed_over(event: Event) -> None:
    assert parts(text("a"), event, text("b")) == (SaidText("ab"),)


def test_usage_follows_the_end_marker_and_counts_the_cache() -> None:
    usage = {
        "inputTokens": 3,
        "outputTokens": 5,
        "totalTokens": 8,
        "cacheReadInputTokens": 7,
        "cacheWriteInputTokens": 9,
    }
    assert read_completion([text("a"), END, {"metadata": {"usage": usage}}]).usage == Usage(3, 5, 7, 9)


def test_numbers_of_tokens_stay_numbers_a_budget_can_count() -> None:
    usage = {"inputTokens": 10**30, "outputTokens": -(10**10)}
    assert read_completion([text("a"), END, {"metadata": {"usage": usage}}]).usage == Usage(10**9, 0, 0, 0)


def test_a_turn_whose_usage_never_came_is_complete_all_the_same() -> None:
    assert read_completion([text("a"), END]) == Completion((SaidText("a"),), "end_turn", Usage(0, 0))


def test_a_stop_reason_newer_than_this_code_reads_as_unknown() -> None:
    assert read_completion([{"messageStop": {"stopReason": "ran_out_of_ink"}}]).stop == "unknown"
    assert read_completion([{"messageStop": {}}]).stop == "unknown"


@pytest.mark.parametrize("events", [[], [text("all of it"), ends()], [begins("x"), argument("{}"), ends()]])
def test_a_stream_without_end_marker_is_no_completion(events: list[Event]) -> None:
    with pytest.raises(ModelUnavailable):
        read_completion(events)


def test_events_are_read_to_the_very_end() -> None:
    events = iter([END, {"metadata": {"usage": {}}}, {"somethingNew": {}}])
    read_completion(events)
    assert list(events) == []


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "delta",
                    "start",
                    "contentBlockIndex",
                    "text",
                    "toolUse",
                    "input",
                    "reasoningContent",
                    "stopReason",
                    "usage",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
EVENT_KINDS = ("contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata", "somethingNew")


@settings(deadline=None)  # how long it takes says nothing here
@given(st.lists(st.dictionaries(st.sampled_from(EVENT_KINDS), ANYTHING, max_size=2), max_size=6))
def test_no_stream_whatever_its_shape_raises_anything_but_that_it_broke(events: list[dict[str, Any]]) -> None:
    try:
        assert isinstance(read_completion(events), Completion)
    except ModelUnavailable:
        assert not any(isinstance(event.get("messageStop"), dict) for event in events)
