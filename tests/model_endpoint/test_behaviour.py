"""What the scripted model says and calls, seen through boto3."""

import json

import pytest

from scripts.offline_stack.model_endpoint.document import JsonObject
from scripts.offline_stack.model_endpoint.signing import signature_of
from tests.model_endpoint.support import (
    GET_TIME,
    HELLO,
    RUN_BUILD,
    Served,
    answered,
    assistant,
    body,
    png,
    reasoning,
    result,
    text,
    tool,
    use,
    user,
    with_tools,
)

STILL_RUNNING = "This call is still running. Its result will arrive by itself, as an event. Do not call it again."
BUILDING = (user(text("build for 10 seconds")), assistant(use("call_1", "run_build", {"seconds": 10})))


def arrived(event_id: str, original: str) -> JsonObject:
    """Return the call that is made for the model when something arrives by itself."""
    about: JsonObject = {"original_tool_name": original, "original_tool_call_id": "call_1", "original_args": {}}
    return use(event_id, "receive_event__injected", about)


@pytest.mark.parametrize(
    ("asked", "arguments"),
    [
        ("What time is it in Tokyo?", '{"city": "Tokyo"}'),
        ("time in São Paulo", '{"city": "São Paulo"}'),
        ("Tell me the time in New York, please", '{"city": "New York"}'),
        ("what is the time in Paris right now?", '{"city": "Paris"}'),
        ("what time is it?", '{"city": "UTC"}'),
    ],
)
def test_the_time_somewhere_is_asked_of_the_tool(served: Served, asked: str, arguments: str) -> None:
    assert served.called(with_tools(user(text(asked)))) == [("get_time", arguments)]


def test_a_tool_that_wants_a_time_zone_is_given_one(served: Served) -> None:
    offered: JsonObject = {"tools": [tool("get_time", timezone="string")]}

    assert served.called(body(user(text("What time is it in Tokyo?")), toolConfig=offered)) == [
        ("get_time", '{"timezone": "Asia/Tokyo"}')
    ]


def test_a_required_parameter_of_another_name_is_given_the_place(served: Served) -> None:
    schema: JsonObject = {"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]}
    offered: JsonObject = {"tools": [{"toolSpec": {"name": "get_time", "inputSchema": {"json": schema}}}]}

    assert served.called(body(user(text("time in Tokyo")), toolConfig=offered)) == [("get_time", '{"where": "Tokyo"}')]


def test_a_tool_without_parameters_is_called_without_arguments(served: Served) -> None:
    offered: JsonObject = {"tools": [tool("get_time")]}

    assert served.called(body(user(text("time in Tokyo")), toolConfig=offered)) == [("get_time", "")]


@pytest.mark.parametrize(
    ("asked", "arguments"),
    [
        ("build for 5 seconds", '{"seconds": 5}'),
        ("Please build 10", '{"seconds": 10}'),
        ("run a build that takes 2.5 seconds", '{"seconds": 2.5}'),
    ],
)
def test_a_build_of_some_seconds_is_asked_of_the_tool(served: Served, asked: str, arguments: str) -> None:
    assert served.called(with_tools(user(text(asked)))) == [("run_build", arguments)]


@pytest.mark.parametrize(
    ("wanted", "name", "arguments"),
    [
        ("Watch 3 events, one every 0.5 s.", "watch", {"events": 3, "interval_s": 0.5}),
        ("Ask me: tea, coffee or water?", "ask", {"question": "Which one?", "choices": ["tea", "coffee", "water"]}),
        ("Please sign me in.", "login", {"seconds": 2}),
    ],
)
def test_a_watch_a_question_and_a_login_are_asked_of_their_tools(
    served: Served, wanted: str, name: str, arguments: JsonObject
) -> None:
    offered: JsonObject = {"tools": [tool(name, **dict.fromkeys(arguments, "string"))]}
    ((called, written),) = served.called(body(user(text(wanted)), toolConfig=offered))
    assert (called, json.loads(written)) == (name, arguments)


def test_a_tool_that_is_not_offered_is_said_to_be_missing(served: Served) -> None:
    offered: JsonObject = {"tools": [GET_TIME]}

    said = served.said(body(user(text("build for 5 seconds")), toolConfig=offered))

    assert "no tool named run_build is offered" in said


def test_a_result_is_quoted_to_the_byte(served: Served) -> None:
    output = 'ok  build-7f3a\n\t"quoted" ☀ \\n'

    said = served.said(with_tools(*BUILDING, user(answered("call_1", output))))

    assert said == f"The result of run_build is: {output}"


def test_a_result_in_json_is_quoted_as_json(served: Served) -> None:
    said = served.said(with_tools(*BUILDING, user(result("call_1", {"json": {"build": "7f3a"}}))))

    assert said == 'The result of run_build is: {"build": "7f3a"}'


def test_a_result_that_is_an_image_is_named(served: Served) -> None:
    picture: JsonObject = {"image": {"format": "png", "source": {"bytes": png()}}}  # type: ignore[dict-item]

    assert served.said(with_tools(*BUILDING, user(result("call_1", picture)))).endswith("(an image in png)")


def test_reasoning_is_not_taken_for_words(served: Served) -> None:
    thought = reasoning("because", signature_of("because", "because"))

    said = served.said(
        with_tools(HELLO, assistant(thought, arrived("evt_1", "run_build")), user(answered("evt_1", "build-7f3a")))
    )

    assert said.splitlines() == [
        "Something arrived from run_build: build-7f3a",
        'I am a scripted model. You said: "hello".',
    ]


def test_a_failure_is_told_with_its_reason(served: Served) -> None:
    said = served.said(with_tools(*BUILDING, user(result("call_1", text("disk full at 7f3a"), status="error"))))

    assert said == "The call of run_build failed: disk full at 7f3a"


def test_an_event_is_quoted_under_the_name_of_the_tool_it_is_about(served: Served) -> None:
    said = served.said(
        with_tools(
            *BUILDING,
            user(answered("call_1", STILL_RUNNING), text("what is 2+2?")),
            assistant(text("Four."), arrived("evt_1", "run_build")),
            user(answered("evt_1", "build-7f3a ok")),
        )
    )

    assert said == "Something arrived from run_build: build-7f3a ok"


def test_a_question_during_a_build_is_answered_in_words(served: Served) -> None:
    content = with_tools(*BUILDING, user(answered("call_1", STILL_RUNNING), text("what is 2+2?")))

    said = served.said(content)

    assert said == 'The call of run_build is still running.\nI am a scripted model. You said: "what is 2+2?".'
    assert served.called(content) == []


def test_the_time_asked_during_a_build_is_asked_of_the_tool(served: Served) -> None:
    content = with_tools(*BUILDING, user(answered("call_1", STILL_RUNNING), text("what time is it in Paris?")))

    assert served.called(content) == [("get_time", '{"city": "Paris"}')]


def test_a_running_call_with_nothing_new_beside_it_is_said_to_run(served: Served) -> None:
    assert served.said(with_tools(*BUILDING, user(answered("call_1", STILL_RUNNING)))).startswith(
        "The call of run_build is still running."
    )


def test_a_question_and_an_event_not_answered_yet_are_both_answered(served: Served) -> None:
    said = served.said(
        with_tools(
            *BUILDING,
            user(answered("call_1", STILL_RUNNING), text("what is 2+2?")),
            assistant(arrived("evt_1", "run_build")),
            user(answered("evt_1", "build-7f3a ok")),
        )
    )

    assert said.splitlines() == [
        "Something arrived from run_build: build-7f3a ok",
        "The call of run_build is still running.",
        'I am a scripted model. You said: "what is 2+2?".',
    ]


def test_a_wish_beside_a_result_is_called_after_the_result_is_told(served: Served) -> None:
    content = with_tools(*BUILDING, user(answered("call_1", "build-7f3a ok"), text("and the time in Paris?")))

    assert served.said(content) == "The result of run_build is: build-7f3a ok"
    assert served.called(content) == [("get_time", '{"city": "Paris"}')]


def test_what_was_answered_before_is_not_answered_again(served: Served) -> None:
    said = served.said(with_tools(*BUILDING, user(answered("call_1", "ok")), assistant(text("It is ok.")), HELLO))

    assert said == 'I am a scripted model. You said: "hello".'


@pytest.mark.parametrize(
    ("call_id", "call"),
    [
        ("any_id", arrived("any_id", "run_build")),
        ("seed_1", use("seed_1", "run_build", {"seconds": 1})),
    ],
)
def test_a_call_made_for_the_model_is_not_taken_for_its_own(served: Served, call_id: str, call: JsonObject) -> None:
    said = served.said(with_tools(HELLO, assistant(call), user(answered(call_id, "build-7f3a"))))

    assert said.splitlines() == [
        "Something arrived from run_build: build-7f3a",
        'I am a scripted model. You said: "hello".',
    ]


def test_of_two_texts_the_newest_decides_on_a_call(served: Served) -> None:
    assert served.called(with_tools(user(text("build 5"), text("time in Oslo")))) == [("get_time", '{"city": "Oslo"}')]
    assert served.called(with_tools(user(text("build 5"), text("thank you")))) == []


def test_anything_else_is_repeated_in_short(served: Served) -> None:
    said = served.said(body(user(text("one\n two"), text("x" * 500))))

    assert said == f'I am a scripted model. You said: "one two" and "{"x" * 120}…".'


def test_the_same_request_is_answered_by_the_same_bytes(served: Served) -> None:
    content = with_tools(user(text("What time is it in Tokyo?")))

    first, second = served.events(content), served.events(content)

    assert first == second
    assert first[1]["contentBlockStart"]["start"]["toolUse"]["toolUseId"].startswith("tooluse_")


def test_two_conversations_are_given_different_ids(served: Served) -> None:
    one = served.events(with_tools(user(text("What time is it in Tokyo?"))))
    other = served.events(with_tools(HELLO, assistant(text("hi")), user(text("What time is it in Tokyo?"))))

    ids = {events[1]["contentBlockStart"]["start"]["toolUse"]["toolUseId"] for events in (one, other)}
    assert len(ids) == 2


def test_the_tools_stay_what_they_are_called_by_the_toolset(served: Served) -> None:
    offered: JsonObject = {"tools": [RUN_BUILD, GET_TIME, {"cachePoint": {"type": "default"}}]}

    assert served.called(body(user(text("build 3")), toolConfig=offered)) == [("run_build", '{"seconds": 3}')]


def test_a_summary_is_written_of_what_stands_before_it(served: Served) -> None:
    conversation = (
        user(text('Build it. [[script: [{"say": "Yes."}]]]')),
        assistant(text("Yes.")),
        user(text("And then?")),
        assistant(text("Then nothing.")),
        user(text("[Write a summary that will stand in place of everything above.]")),
    )

    assert served.said(body(*conversation)) == 'A summary of 5 messages, from "Build it." to "And then?".'


def test_a_summary_of_nothing_says_so(served: Served) -> None:
    assert served.said(body(user(text("Write a summary.")))) == "A summary of 1 messages."
