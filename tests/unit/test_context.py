"""History as the model is shown it."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from runtime import phrases
from runtime.context import model_request, rendered
from runtime.draft import Draft
from runtime.identity import event_id_at
from runtime.interpret import Moment, interpret
from runtime.model.calls import Call
from runtime.model.entries import Entry, Event, Reasoning, TextItem, ToolResult
from runtime.model.messages import (
    BounceContent,
    Content,
    EventContent,
    Message,
    MessageKey,
    ReportContent,
    TimerContent,
)
from runtime.model.threads import Thread, ThreadRow
from runtime.model.toolsets import OfferedTool, Toolset
from runtime.model.turns import (
    CachePoint,
    CallBlock,
    Completion,
    ModelMessage,
    ReasoningBlock,
    ResultBlock,
    SaidText,
    TextBlock,
    Thought,
    WantedCall,
)
from runtime.prepare import prepare
from runtime.tools.builtin import BUILTINS
from runtime.tools.offer import offer_of
from tests.support.values import (
    LIMITS,
    NOW_MS,
    THREAD,
    USAGE,
    answered,
    asked,
    called,
    result_message,
    text_message,
    thread_of,
    tool,
    undelivered_message,
)

SHORT = replace(LIMITS, item_chars=100, message_bytes=1_000)
ROW = ThreadRow(THREAD, THREAD)
OFFER = offer_of([Toolset("builds", "http://x/invoke", (OfferedTool(tool("run_build")),))], BUILTINS)


def test_a_question_and_its_answer_alternate() -> None:
    assert rendered(ROW, thread_of(asked("a"), answered("b"), asked("c")).entries) == (
        ModelMessage("user", (TextBlock("a"),)),
        ModelMessage("assistant", (TextBlock("b"),)),
        ModelMessage("user", (TextBlock("c"),)),
    )


def test_a_result_and_what_was_said_meanwhile_are_one_message_the_result_first() -> None:
    result = ToolResult("call_1", (TextItem("running"),))
    *_, last = rendered(ROW, thread_of(asked(), called("call_1"), result, asked("and?")).entries)
    assert last == ModelMessage("user", (ResultBlock("call_1", (TextItem("running"),), "success"), TextBlock("and?")))


def test_an_event_is_a_call_made_for_the_model_and_its_result() -> None:
    event = Event("call_1", "run_build", {"seconds": 5}, (TextItem("done"),), "result:call_1", "late_result")
    _, assistant, user = rendered(ROW, thread_of(asked(), answered("ok"), event).entries)
    arguments = {
        "original_tool_name": "run_build",
        "original_tool_call_id": "call_1",
        "original_args": {"seconds": 5},
    }
    assert assistant.blocks == (TextBlock("ok"), CallBlock(event_id_at(THREAD, 3), phrases.INJECTED_TOOL, arguments))
    assert user.blocks == (ResultBlock(event_id_at(THREAD, 3), (TextItem("done"),), "success"),)


def test_what_was_withheld_is_one_line() -> None:
    entry = replace(thread_of(asked("poison")).entries[0], withheld="model_refused")
    assert rendered(ROW, [entry]) == (ModelMessage("user", (TextBlock(phrases.WITHHELD_INPUT),)),)


def test_the_result_of_the_first_of_several_calls_ends_with_the_names_of_the_others() -> None:
    call = replace(called("call_1"), not_run=("a", "b"))
    entries = thread_of(asked(), call, ToolResult("call_1", (TextItem("done"),))).entries
    result = rendered(ROW, entries)[-1].blocks[0]
    assert isinstance(result, ResultBlock)
    assert result.items == (TextItem("done"), TextItem(phrases.not_run_note(("a", "b"))))


def test_reasoning_is_passed_back_as_it_came() -> None:
    blocks = rendered(ROW, thread_of(asked(), Reasoning("hm", "sig"), answered()).entries)[1].blocks
    assert blocks == (ReasoningBlock("hm", "sig", None), TextBlock("hi"))


def test_reasoning_that_a_provider_may_have_refused_is_not_sent_again() -> None:
    question, thought, answer, refused = thread_of(asked(), Reasoning("hm", "odd"), answered(), asked("again")).entries
    entries = (question, thought, answer, replace(refused, withheld="model_refused"))
    assert rendered(ROW, entries)[1].blocks == (TextBlock("hi"),)


def test_twelve_turns_have_two_cache_points_none_of_them_stored() -> None:
    bodies = [body for turn in range(12) for body in (asked(f"q{turn}"), answered(f"a{turn}"))]
    draft = Draft.of(thread_of(*bodies, asked("last")))
    request = model_request(draft, draft.visible_entries(), OFFER.specs, "", 100)
    places = [index for index, message in enumerate(request.messages) if CachePoint() in message.blocks]
    assert places == [22, 24]
    assert all(request.messages[index].blocks[-1] == CachePoint() for index in places)


def test_a_longer_history_begins_with_the_same_bytes() -> None:
    entries = thread_of(asked("a"), answered("b"), asked("c"), answered("d"), asked("e")).entries
    assert rendered(ROW, entries)[:3] == rendered(ROW, entries[:3])


_texts = st.text(min_size=0, max_size=5)
_inputs = st.one_of(
    st.builds(lambda text: [text_message(text)], _texts),
    st.sampled_from([["result"], ["undelivered"], ["timer"], ["event"], ["threaded event"], ["report"], ["bounce"]]),
)
_completions = st.lists(
    st.one_of(
        st.builds(SaidText, _texts),
        st.builds(lambda text: Thought(text or "x", "sig"), _texts),
        st.builds(
            WantedCall,
            st.just("toolu"),
            st.sampled_from(
                ["run_build", "list_activity", "sleep", "sleep_until_event_or_input", "fly", "a b", "cancel_tool_call"]
            ),
            st.sampled_from(["", "{}", '{"tool_call_id": "x"}', '{"seconds": 9}', "{", "[]"]),
        ),
    ),
    max_size=3,
)


def _grown(steps: list[tuple[list[object], list[object]]]) -> Thread:
    """Return what any mix of messages and completions makes of a thread, decided by the real decisions."""
    thread = Thread(ThreadRow(THREAD, THREAD))
    draft = prepare(thread, [text_message("hello")], NOW_MS, SHORT)
    for inputs, parts in steps:
        for given_input in inputs:
            draft = prepare(_stored(draft), list(_messages(draft, given_input)), NOW_MS, SHORT)
        if draft.asks:
            stop = "tool_use" if any(isinstance(part, WantedCall) for part in parts) else "end_turn"
            draft = interpret(draft, Completion(tuple(parts), stop, USAGE), OFFER, Moment(NOW_MS, SHORT))  # type: ignore[arg-type]
    return _stored(draft)


def _messages(draft: Draft, given_input: object) -> list[Message]:
    if isinstance(given_input, Message):
        return [given_input]
    return [_about(call, str(given_input)) for call in draft.all_calls().values()][-1:]


def _about(call: Call, kind: str) -> Message:
    """Return a message of this kind about a call, as whatever wakes a thread brings it."""
    text = (TextItem("text"),)
    contents: dict[str, Content] = {
        "timer": TimerContent(call.call_id, NOW_MS),
        "event": EventContent(call.call_id, text, associative=True),
        "threaded event": EventContent(call.call_id, text),
        "report": ReportContent(call.call_id, "child", "text"),
        "bounce": BounceContent(call.call_id),
    }
    if kind in contents:
        return Message(THREAD, MessageKey(kind, f"{kind}:{call.call_id}"), contents[kind], "")
    return result_message(call.call_id, "text") if kind == "result" else undelivered_message(call.call_id, "text")


def _stored(draft: Draft) -> Thread:
    row = replace(draft.thread.row, head=draft.head, version=draft.thread.row.version + 1)
    return Thread(row, draft.visible_entries(), draft.all_calls())


@given(
    st.lists(
        st.tuples(st.lists(_inputs, max_size=3).map(lambda lists: [x for y in lists for x in y]), _completions),
        max_size=8,
    )
)
def test_whatever_happens_the_request_is_valid_for_the_strictest_provider(
    steps: list[tuple[list[object], list[object]]],
) -> None:
    thread = _grown(steps)
    messages = rendered(ROW, thread.entries)
    assert _complaints(messages, waits=not thread.entries[-1].asks) == []
    assert [entry.position for entry in thread.entries] == list(range(1, len(thread.entries) + 1))
    _assert_pending_is_the_tail(thread)


def _assert_pending_is_the_tail(thread: Thread) -> None:
    pending = [call.position for call in thread.calls.values() if call.state == "pending"]
    tail: Entry = thread.entries[-1]
    assert pending == ([tail.position] if tail.body.kind == "tool_call" else [])


def _complaints(messages: tuple[ModelMessage, ...], *, waits: bool) -> list[str]:
    """Return what a provider would refuse. `waits`: the model is not asked now, so the last call may be open."""
    complaints = [] if messages[0].role == "user" else ["starts with the assistant"]
    for message, following in zip(messages, (*messages[1:], None), strict=True):
        complaints += [] if following is None or following.role != message.role else ["two in a row"]
        made = [block.call_id for block in message.blocks if isinstance(block, CallBlock)]
        answers = [b.call_id for b in following.blocks if isinstance(b, ResultBlock)] if following else made
        complaints += [] if made == answers or message.role == "user" else ["calls and results differ"]
        complaints += ["call before the end"] if any(made) and not isinstance(message.blocks[-1], CallBlock) else []
        complaints += ["empty text" for b in message.blocks if isinstance(b, TextBlock) and not b.text.strip()]
        complaints += ["empty result" for b in message.blocks if isinstance(b, ResultBlock) and not b.items]
    ids = [block.call_id for message in messages for block in message.blocks if isinstance(block, CallBlock)]
    complaints += [] if len(ids) == len(set(ids)) else ["an id twice"]
    last_is_open = messages[-1].role == "assistant" and isinstance(messages[-1].blocks[-1], CallBlock)
    return [*complaints, *(["an open call is asked about"] if last_is_open and not waits else [])]
