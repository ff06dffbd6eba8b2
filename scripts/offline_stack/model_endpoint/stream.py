"""From steps to what goes over the wire: frames, pauses and, where a script asks for it, an abrupt end."""

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias, assert_never

from scripts.offline_stack.model_endpoint.document import JsonObject
from scripts.offline_stack.model_endpoint.eventstream import error_frame, event_frame, exception_frame, garbled
from scripts.offline_stack.model_endpoint.request import ConverseRequest
from scripts.offline_stack.model_endpoint.signing import redacted_content_of, signature_of
from scripts.offline_stack.model_endpoint.steps import (
    Break,
    Call,
    End,
    Raw,
    Reason,
    ReasonUnseen,
    Refuse,
    Report,
    Say,
    Step,
    Stop,
    Wait,
)
from scripts.offline_stack.model_endpoint.tokens import tokens_of, usage_of

# The exceptions the output stream of ConverseStream names; any other travels as an unnamed error.
STREAM_EXCEPTIONS = (
    "internalServerException",
    "modelStreamErrorException",
    "validationException",
    "throttlingException",
    "serviceUnavailableException",
)


@dataclass(frozen=True, slots=True)
class Frame:
    content: bytes


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection breaks within the body."""


Emission: TypeAlias = Frame | Pause | Lost


def stream_of(steps: Sequence[Step], request: ConverseRequest) -> Iterator[Emission]:
    """Yield the whole answer in order. The same steps for the same request are the same bytes.

    Blocks are numbered in the order of the steps. After a `Break` nothing follows; without an `End` the stream closes
    with ``messageStop`` and ``metadata``.
    """
    yield Frame(event_frame("messageStart", {"role": "assistant"}))
    index = 0
    for step in steps:
        match step:
            case Say() | Call() | Reason() | ReasonUnseen():
                yield from (Frame(event_frame(kind, payload)) for kind, payload in _block_events(step, index, request))
                index += 1
            case Wait(seconds):
                yield Pause(seconds)
            case Raw(event, payload):
                yield Frame(event_frame(event, payload))
            case Break(exception, message):
                yield Frame(_failure_frame(exception, message))
                return
            case Stop() | Report() | End() | Refuse():
                pass  # these concern the end of the stream, or stand in for it
            case _:
                assert_never(step)
    yield from _ending(steps, request)


def stop_reason_of(steps: Sequence[Step]) -> str:
    """Return the stop reason these steps end with."""
    reasons = [step.reason for step in steps if isinstance(step, Stop)]
    if reasons:
        return reasons[-1]
    return "tool_use" if any(isinstance(step, Call) for step in steps) else "end_turn"


def _block_events(
    step: Say | Call | Reason | ReasonUnseen, index: int, request: ConverseRequest
) -> Iterator[tuple[str, JsonObject]]:
    # Only a tool use announces its block: text and reasoning begin with their first delta, as the service does it.
    if isinstance(step, Call):
        tool_use_id = step.tool_use_id or _tool_use_id(request, index)
        start: JsonObject = {"toolUse": {"toolUseId": tool_use_id, "name": step.name}}
        yield "contentBlockStart", {"start": start, "contentBlockIndex": index}
    for delta in _deltas(step):
        yield "contentBlockDelta", {"delta": delta, "contentBlockIndex": index}
    if not (isinstance(step, Call) and step.is_cut):
        yield "contentBlockStop", {"contentBlockIndex": index}


def _deltas(step: Say | Call | Reason | ReasonUnseen) -> list[JsonObject]:
    match step:
        case Say(chunks):
            return [{"text": chunk} for chunk in chunks]
        case Call(_, fragments):
            return [{"toolUse": {"input": fragment}} for fragment in fragments]
        case Reason(chunks, is_shown):
            shown = chunks if is_shown else ("",)
            signature = signature_of("".join(chunks), "".join(shown))
            parts = [*(("text", chunk) for chunk in shown), ("signature", signature)]
            return [{"reasoningContent": {name: value}} for name, value in parts]
        case ReasonUnseen(hidden_text):
            return [{"reasoningContent": {"redactedContent": b64encode(redacted_content_of(hidden_text)).decode()}}]
        case _:
            assert_never(step)


def _failure_frame(exception: str, message: str) -> bytes:
    if exception not in STREAM_EXCEPTIONS:
        return error_frame(exception, message)
    payload: JsonObject = {"message": message}
    if exception == "modelStreamErrorException":
        payload |= {"originalStatusCode": 500, "originalMessage": message}
    return exception_frame(exception, payload)


def _ending(steps: Sequence[Step], request: ConverseRequest) -> Iterator[Emission]:
    end = next((step.how for step in steps if isinstance(step, End)), "whole")
    if end == "lost":
        yield Lost()
    if end in ("lost", "missing"):
        return
    message_stop = event_frame("messageStop", {"stopReason": stop_reason_of(steps)})
    if end == "garbled":
        yield Frame(garbled(message_stop))
        return
    yield Frame(message_stop)
    if end == "whole":
        yield Frame(event_frame("metadata", {"usage": _usage(steps, request), "metrics": {"latencyMs": 1}}))


def _usage(steps: Sequence[Step], request: ConverseRequest) -> JsonObject:
    said = sum(tokens_of("".join(step.chunks)) for step in steps if isinstance(step, Say | Reason))
    asked = sum(tokens_of(step.name + "".join(step.fragments)) for step in steps if isinstance(step, Call))
    usage: JsonObject = usage_of(request, said + asked).as_event()
    for step in steps:
        if isinstance(step, Report):
            usage |= step.usage
    return usage


def _tool_use_id(request: ConverseRequest, index: int) -> str:
    # From the request alone, so that the same request repeated is given the same id.
    seed = json.dumps([request.model_id, request.body, index], sort_keys=True)
    return f"tooluse_{sha256(seed.encode()).hexdigest()[:22]}"
