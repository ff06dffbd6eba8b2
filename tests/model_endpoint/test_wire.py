"""What an unmodified boto3 client sees of each kind of event and failure."""

import json

import botocore.session
import pytest
from botocore.eventstream import ChecksumMismatch
from botocore.exceptions import ClientError, EventStreamError
from botocore.model import StructureShape
from urllib3.exceptions import ProtocolError

from scripts.offline_stack.model_endpoint.document import JsonObject, JsonValue
from scripts.offline_stack.model_endpoint.service_model import exception_status
from scripts.offline_stack.model_endpoint.signing import redacted_content_of, signature_of
from scripts.offline_stack.model_endpoint.stream import STREAM_EXCEPTIONS
from tests.model_endpoint.support import Served, body, text, user


def scripted(*steps: JsonObject) -> JsonObject:
    listed: list[JsonValue] = list(steps)
    return body(user(text(f"[[script: {json.dumps(listed)}]]")))


def test_a_text_arrives_as_botocores_own_structures(served: Served) -> None:
    events = served.events(scripted({"say": ["Good ", "morning ☀"]}))

    assert events[:-1] == [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"text": "Good "}, "contentBlockIndex": 0}},
        {"contentBlockDelta": {"delta": {"text": "morning ☀"}, "contentBlockIndex": 0}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
    ]
    usage = events[-1]["metadata"]["usage"]
    assert usage["totalTokens"] == usage["inputTokens"] + usage["outputTokens"]


def test_a_call_announces_itself_and_its_arguments_come_in_pieces(served: Served) -> None:
    events = served.events(
        scripted({"call": "get_time", "id": "call.1", "fragments": ['{"city":', ' "Paris"}']}, {"usage": {}})
    )

    assert events[1:-1] == [
        {
            "contentBlockStart": {
                "start": {"toolUse": {"toolUseId": "call.1", "name": "get_time"}},
                "contentBlockIndex": 0,
            }
        },
        {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"city":'}}, "contentBlockIndex": 0}},
        {"contentBlockDelta": {"delta": {"toolUse": {"input": ' "Paris"}'}}, "contentBlockIndex": 0}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "tool_use"}},
    ]


def test_a_call_without_arguments_has_no_delta(served: Served) -> None:
    events = served.events(scripted({"call": "list_activity", "fragments": []}))

    assert [next(iter(event)) for event in events] == [
        "messageStart",
        "contentBlockStart",
        "contentBlockStop",
        "messageStop",
        "metadata",
    ]


def test_reasoning_comes_with_a_signature_in_front_of_the_text(served: Served) -> None:
    events = served.events(scripted({"reason": ["Let me ", "think."]}, {"say": "Yes."}))

    deltas = [event["contentBlockDelta"] for event in events if "contentBlockDelta" in event]
    signature = signature_of("Let me think.", "Let me think.")
    assert deltas == [
        {"delta": {"reasoningContent": {"text": "Let me "}}, "contentBlockIndex": 0},
        {"delta": {"reasoningContent": {"text": "think."}}, "contentBlockIndex": 0},
        {"delta": {"reasoningContent": {"signature": signature}}, "contentBlockIndex": 0},
        {"delta": {"text": "Yes."}, "contentBlockIndex": 1},
    ]


def test_reasoning_not_shown_is_an_empty_text_with_a_signature(served: Served) -> None:
    events = served.events(scripted({"reason": "hidden", "shown": False}, {"say": "Yes."}))

    first, second = (event["contentBlockDelta"]["delta"]["reasoningContent"] for event in events[1:3])
    assert (first, second) == ({"text": ""}, {"signature": signature_of("hidden", "")})


def test_redacted_reasoning_arrives_as_bytes(served: Served) -> None:
    events = served.events(scripted({"redacted": "hidden"}, {"say": "Yes."}))

    delta = events[1]["contentBlockDelta"]["delta"]
    assert delta == {"reasoningContent": {"redactedContent": redacted_content_of("hidden")}}


@pytest.mark.parametrize(
    "reason",
    [
        "max_tokens",
        "stop_sequence",
        "guardrail_intervened",
        "content_filtered",
        "malformed_model_output",
        "malformed_tool_use",
        "model_context_window_exceeded",
        "a_reason_of_tomorrow",
    ],
)
def test_any_stop_reason_can_be_scripted(served: Served, reason: str) -> None:
    events = served.events(scripted({"say": "Well"}, {"stop": reason}))

    assert {"messageStop": {"stopReason": reason}} in events


def test_usage_numbers_can_be_scripted(served: Served) -> None:
    events = served.events(scripted({"say": "Well"}, {"usage": {"inputTokens": 150_000, "cacheReadInputTokens": 7}}))

    usage = events[-1]["metadata"]["usage"]
    assert (usage["inputTokens"], usage["cacheReadInputTokens"]) == (150_000, 7)


@pytest.mark.parametrize("name", STREAM_EXCEPTIONS)
def test_an_exception_within_the_stream_is_raised_while_reading(served: Served, name: str) -> None:
    stream = served.stream(scripted({"say": "Half of"}, {"break": name, "message": "No more."}))

    assert [next(iter(next(stream))) for _ in range(3)] == ["messageStart", "contentBlockDelta", "contentBlockStop"]
    with pytest.raises(EventStreamError) as raised:
        next(stream)
    assert raised.value.response["Error"] == {"Code": name, "Message": "No more."}


def test_an_error_within_the_stream_that_no_model_names_is_raised_by_its_code(served: Served) -> None:
    with pytest.raises(EventStreamError) as raised:
        served.events(scripted({"break": "somethingNew", "message": "Surprise."}))

    assert raised.value.response["Error"] == {"Code": "somethingNew", "Message": "Surprise."}


def test_the_exceptions_within_the_stream_are_those_of_the_published_model() -> None:
    service = botocore.session.get_session().get_service_model("bedrock-runtime")
    output = service.operation_model("ConverseStream").output_shape
    assert output is not None
    stream = output.members["stream"]
    assert isinstance(stream, StructureShape)

    assert set(STREAM_EXCEPTIONS) == {
        name for name, member in stream.members.items() if member.metadata.get("exception")
    }


@pytest.mark.parametrize("name", sorted(exception_status()))
def test_an_http_error_is_raised_as_botocores_own_exception(served: Served, name: str) -> None:
    exception: type[ClientError] = getattr(served.client.exceptions, name)

    with pytest.raises(exception) as raised:
        served.events(scripted({"refuse": name, "message": "Not now."}))
    assert raised.value.response["Error"] == {"Code": name, "Message": "Not now."}
    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == exception_status()[name]
    assert raised.value.response["ResponseMetadata"]["RequestId"]


def test_the_http_errors_are_all_a_client_can_be_told_before_the_stream() -> None:
    assert set(exception_status()) == {
        "AccessDeniedException",
        "InternalServerException",
        "ModelErrorException",
        "ModelNotReadyException",
        "ModelTimeoutException",
        "ResourceNotFoundException",
        "ServiceUnavailableException",
        "ThrottlingException",
        "ValidationException",
    }


def test_a_refused_request_is_a_validation_exception(served: Served) -> None:
    with pytest.raises(served.client.exceptions.ValidationException) as raised:
        served.events(body(user(text(" "))))

    assert "is blank" in raised.value.response["Error"]["Message"]


def test_an_unknown_model_is_not_found(served: Served) -> None:
    with pytest.raises(served.client.exceptions.ResourceNotFoundException) as raised:
        list(served.stream(scripted({"say": "hello"}), model_id="missing.model-v1:0"))

    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404


def test_a_model_named_by_its_arn_is_understood(served: Served) -> None:
    arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-20250514-v1:0"

    events = list(served.stream(scripted({"say": "hello"}), model_id=arn))

    assert events[-2] == {"messageStop": {"stopReason": "end_turn"}}


def test_a_missing_end_ends_the_stream_in_good_order(served: Served) -> None:
    events = served.events(scripted({"say": "Half of"}, {"end": "missing"}))

    assert [next(iter(event)) for event in events] == ["messageStart", "contentBlockDelta", "contentBlockStop"]


def test_a_bare_end_leaves_the_metadata_out(served: Served) -> None:
    events = served.events(scripted({"say": "All of it"}, {"end": "bare"}))

    assert events[-1] == {"messageStop": {"stopReason": "end_turn"}}


def test_a_lost_connection_is_raised_while_reading(served: Served) -> None:
    stream = served.stream(scripted({"say": "Half of"}, {"end": "lost"}))

    assert [next(iter(next(stream))) for _ in range(3)] == ["messageStart", "contentBlockDelta", "contentBlockStop"]
    with pytest.raises(ProtocolError):
        next(stream)


def test_a_garbled_frame_is_raised_while_reading(served: Served) -> None:
    with pytest.raises(ChecksumMismatch):
        served.events(scripted({"say": "Half of"}, {"end": "garbled"}))


def test_cut_arguments_end_without_the_end_of_their_block(served: Served) -> None:
    events = served.events(scripted({"call": "get_time", "fragments": ['{"ci'], "cut": True}, {"stop": "max_tokens"}))

    assert [next(iter(event)) for event in events[1:4]] == ["contentBlockStart", "contentBlockDelta", "messageStop"]


def test_any_event_can_be_scripted(served: Served) -> None:
    events = served.events(
        scripted({"event": "contentBlockDelta", "payload": {"delta": {"text": "late"}, "contentBlockIndex": 9}})
    )

    assert events[1] == {"contentBlockDelta": {"delta": {"text": "late"}, "contentBlockIndex": 9}}


def test_one_connection_serves_an_error_and_then_a_stream(served: Served) -> None:
    with pytest.raises(ClientError):
        served.events(scripted({"refuse": "ThrottlingException"}))

    assert served.said(scripted({"say": "again"})) == "again"
