"""The frames themselves, read by botocore's own decoder: what its event structures do not show any more."""

import json
from typing import Any

import pytest
from botocore.eventstream import EventStreamBuffer

from scripts.offline_stack.model_endpoint.steps import Break, Say, Step, Wait
from scripts.offline_stack.model_endpoint.stream import STREAM_EXCEPTIONS, Frame, Pause, stream_of
from tests.model_endpoint.support import HELLO, body, read


def frames_of(*steps: Step) -> list[Any]:
    """Return the frames as botocore decodes them, checksums included; it has no types, hence Any."""
    buffer = EventStreamBuffer()
    for emission in stream_of(steps, read(body(HELLO))):
        if isinstance(emission, Frame):
            buffer.add_data(emission.content)
    return list(buffer)


def test_every_event_names_its_kind_and_the_type_of_its_content() -> None:
    frames = frames_of(Say(("hello",)))

    assert [frame.headers for frame in frames] == [
        {":event-type": kind, ":message-type": "event", ":content-type": "application/json"}
        for kind in ("messageStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")
    ]


@pytest.mark.parametrize("name", STREAM_EXCEPTIONS)
def test_an_exception_is_a_frame_of_its_own_kind_and_the_last_one(name: str) -> None:
    *_, last = frames_of(Break(name, "No more."), Say(("never",)))

    assert last.headers == {
        ":exception-type": name,
        ":message-type": "exception",
        ":content-type": "application/json",
    }
    assert json.loads(last.payload)["message"] == "No more."


def test_a_model_stream_error_carries_what_the_model_said() -> None:
    *_, last = frames_of(Break("modelStreamErrorException", "No more."))

    assert json.loads(last.payload) == {
        "message": "No more.",
        "originalStatusCode": 500,
        "originalMessage": "No more.",
    }


def test_an_error_without_a_shape_is_told_in_headers_alone() -> None:
    *_, last = frames_of(Break("somethingNew", "Surprise."))

    assert last.headers == {
        ":error-code": "somethingNew",
        ":error-message": "Surprise.",
        ":message-type": "error",
    }
    assert last.payload == b""


def test_silence_falls_between_the_blocks_it_stands_between() -> None:
    emissions = list(stream_of((Say(("a",)), Wait(2.5), Say(("b",))), read(body(HELLO))))

    assert [at for at, emission in enumerate(emissions) if emission == Pause(2.5)] == [3]
