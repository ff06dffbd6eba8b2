"""The script language, beside what `test_wire` shows of each single step."""

import json
import time
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError, EventStreamError

from scripts.offline_stack.model_endpoint.document import JsonObject
from scripts.offline_stack.model_endpoint.script import UnreadableScript, script_in, without_scripts
from scripts.offline_stack.model_endpoint.steps import Call, Say
from tests.model_endpoint.support import Served, answered, assistant, body, text, use, user, with_tools


def directive(content: object, before: str = "") -> JsonObject:
    return user(text(f"{before}[[script: {json.dumps(content)}]]"))


def test_a_script_may_hold_brackets_and_stand_behind_words() -> None:
    script = script_in('please [[script: [{"say": ["[[a]]"]}, {"call": "f", "input": {"list": [[1]]}}]]] thank you')

    assert script is not None
    assert script.turns == ((Say(("[[a]]",)), Call("f", ('{"list": [[1]]}',))),)


def test_a_text_without_a_script_has_none() -> None:
    assert script_in("script: [1]") is None
    assert without_scripts("time in Tokyo [[script: []]]") == "time in Tokyo"


@pytest.mark.parametrize(
    "unreadable",
    [
        "[[script: nothing]]",
        '[[script: [{"say": "x"}]',
        '[[script: {"say": "x"}]]',
        '[[script: [{"shout": "x"}]]]',
        '[[script: [{"end": "well"}]]]',
        "[[script: 5]]",
    ],
)
def test_a_script_that_cannot_be_read_is_said_to_be_so(unreadable: str) -> None:
    with pytest.raises(UnreadableScript):
        script_in(unreadable)


def test_an_unreadable_script_is_a_validation_exception(served: Served) -> None:
    with pytest.raises(served.client.exceptions.ValidationException) as raised:
        served.events(body(user(text("[[script: nothing]]"))))

    assert "The script cannot be read" in raised.value.response["Error"]["Message"]


def test_a_script_is_no_way_around_the_rules(served: Served) -> None:
    with pytest.raises(served.client.exceptions.ValidationException):
        served.events(body(directive([{"say": "hello"}]), directive([{"say": "hello"}])))


def test_several_calls_are_made_in_one_turn_with_the_ids_given(served: Served) -> None:
    steps = [
        {"say": "Two at once."},
        {"call": "get_time", "id": "same", "input": {"city": "Oslo"}},
        {"call": "get_time", "id": "same", "input": {"city": "Rome"}},
    ]

    events = served.events(with_tools(directive(steps)))

    starts = [event["contentBlockStart"] for event in events if "contentBlockStart" in event]
    assert [(start["contentBlockIndex"], start["start"]["toolUse"]["toolUseId"]) for start in starts] == [
        (1, "same"),
        (2, "same"),
    ]
    assert {"messageStop": {"stopReason": "tool_use"}} in events


def test_turns_are_told_apart_by_the_conversation(served: Served) -> None:
    asked = directive({"turns": [[{"call": "get_time", "input": {"city": "Oslo"}}], [{"say": "Second."}]]})
    after_the_call = (asked, assistant(use("call_1")), user(answered("call_1", "noon")))

    assert served.called(with_tools(asked)) == [("get_time", '{"city": "Oslo"}')]
    assert served.called(with_tools(asked)) == [("get_time", '{"city": "Oslo"}')]
    assert served.said(with_tools(*after_the_call)) == "Second."


def test_after_the_last_turn_of_a_script_the_ordinary_rules_answer(served: Served) -> None:
    asked = directive([{"call": "get_time", "input": {"city": "Oslo"}}])

    said = served.said(with_tools(asked, assistant(use("call_1")), user(answered("call_1", "noon"))))

    assert said == "The result of get_time is: noon"


def test_what_arrives_by_itself_is_no_turn_of_the_assistant(served: Served) -> None:
    asked = directive([{"say": "First."}])
    event = use("evt_1", "receive_event__injected", {"original_tool_name": "run_build"})

    assert served.said(with_tools(asked, assistant(event), user(answered("evt_1", "ok")))) == "First."


def test_a_newer_text_takes_over_from_a_script(served: Served) -> None:
    asked = directive({"turns": [[{"say": "First."}], [{"say": "Second."}]]})

    said = served.said(body(asked, assistant(text("First.")), user(text("thank you"))))

    assert said == 'I am a scripted model. You said: "thank you".'


def test_the_first_requests_fail_and_later_ones_are_answered_as_scripted(served: Served) -> None:
    asked = body(
        directive(
            {"first": 2, "steps": [{"break": "throttlingException"}], "then": [{"say": "Now."}]}, before=f"{uuid4()} "
        )
    )

    for _ in range(2):
        with pytest.raises(EventStreamError):
            served.events(asked)
    assert served.said(asked) == "Now."


def test_the_first_request_fails_and_later_ones_are_answered_by_the_rules(served: Served) -> None:
    asked = body(directive({"first": 1, "steps": [{"refuse": "ServiceUnavailableException"}]}, before=f"{uuid4()} "))

    with pytest.raises(ClientError):
        served.events(asked)
    assert served.said(asked).startswith("I am a scripted model.")


def test_the_first_request_is_no_other_turn_of_the_conversation(served: Served) -> None:
    asked = directive({"first": 9, "steps": [{"call": "get_time"}]}, before=f"{uuid4()} ")

    said = served.said(with_tools(asked, assistant(use("call_1")), user(answered("call_1", "noon"))))

    assert said == "The result of get_time is: noon"


def test_silence_before_the_answer_comes_before_anything_else(served: Served) -> None:
    before = time.monotonic()

    stream = served.stream(body(directive([{"wait": 0.3}, {"say": "x"}])))
    next(stream)

    assert time.monotonic() - before >= 0.3


def test_silence_within_the_answer_comes_after_what_was_said(served: Served) -> None:
    stream = served.stream(body(directive([{"say": "One."}, {"wait": 0.3}, {"say": "Two."}])))

    for _ in range(3):
        next(stream)
    before = time.monotonic()
    next(stream)

    assert time.monotonic() - before >= 0.2


def test_a_model_that_is_away_for_a_while_answers_before_and_after_it(served: Served) -> None:
    now = time.time()
    steps = [{"refuse": "ServiceUnavailableException"}]

    for times in ((now - 90, now - 30), (now + 30, now + 90)):
        script = {"from": times[0], "until": times[1], "steps": steps}
        assert "You said" in served.said(body(directive(script, "Hello")))
    with pytest.raises(ClientError, match="ServiceUnavailable"):
        served.events(body(directive({"from": now - 30, "until": now + 90, "steps": steps}, "Hello")))
