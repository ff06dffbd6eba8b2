"""What every model port promises: the scripted one, and Bedrock's against the project's model endpoint."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import get_args

import pytest

from runtime.adapters.memory.model import ScriptedModel
from runtime.errors import (
    CutByDeadline,
    Misconfigured,
    ModelUnavailable,
    PermanentError,
    RetryableError,
    RuntimeProblem,
    TooLong,
)
from runtime.model.entries import Usage
from runtime.model.turns import Completion, ModelRequest, Part, SaidText, StopReason, Thought, WantedCall
from runtime.ports import Model
from tests.support.bedrock import ScriptStep, asking, model_at, request_playing, serving

Act = Completion | RuntimeProblem
TIMEOUT_S = 10.0
SHORT_S = 0.5
USAGE = Usage(input_tokens=11, output_tokens=7, cache_read_tokens=5, cache_write_tokens=3)

ERRORS: tuple[tuple[RuntimeProblem, Sequence[ScriptStep]], ...] = (
    (ModelUnavailable("throttled"), [{"refuse": "ThrottlingException"}]),
    (ModelUnavailable("broken"), [{"say": ["half", " of"]}, {"break": "throttlingException"}]),
    (ModelUnavailable("no end"), [{"say": "all of it"}, {"end": "missing"}]),
    (CutByDeadline("cut"), [{"say": "it was a"}, {"wait": 30}]),
    (Misconfigured("denied"), [{"refuse": "AccessDeniedException"}]),
    (TooLong("long"), [{"refuse": "ValidationException", "message": "Input is too long for requested model."}]),
    (PermanentError("refused"), [{"refuse": "ValidationException", "message": "messages: roles must alternate"}]),
)


@dataclass(frozen=True)
class Stage:
    """A model, and the requests that make it perform the acts one after the other."""

    model: Model
    requests: Sequence[ModelRequest]

    def perform(self) -> list[Completion]:
        return [self.model.complete(request, TIMEOUT_S) for request in self.requests]


SetStage = Callable[[Sequence[Act]], Stage]


@pytest.fixture(params=["memory", "bedrock"])
def stage(request: pytest.FixtureRequest) -> Iterator[SetStage]:
    if request.param == "memory":
        yield lambda acts: Stage(ScriptedModel(acts), [asking("Go on.")] * len(acts))
    else:
        with serving() as url:
            model = model_at(url)
            yield lambda acts: Stage(model, [request_playing(steps_of(act)) for act in acts])


def steps_of(act: Act) -> Sequence[ScriptStep]:
    """The endpoint's script for an act, in raw events where its own steps would choose the words."""
    if isinstance(act, RuntimeProblem):
        return next(steps for error, steps in ERRORS if error is act)
    events = [event for index, part in enumerate(act.parts) for event in events_of(part, index)]
    usage = {
        "inputTokens": act.usage.input_tokens,
        "outputTokens": act.usage.output_tokens,
        "cacheReadInputTokens": act.usage.cache_read_tokens,
        "cacheWriteInputTokens": act.usage.cache_write_tokens,
    }
    return [*events, {"stop": act.stop}, {"usage": usage}]


def events_of(part: Part, index: int) -> list[ScriptStep]:
    match part:
        case SaidText(text):
            return [delta(index, {"text": piece}) for piece in in_two(text)]
        case Thought(text, signature, _):
            pieces = [{"text": piece} for piece in in_two(text or "")] + [{"signature": signature}]
            return [delta(index, {"reasoningContent": piece}) for piece in pieces]
        case WantedCall(call_id, name, arguments_json):
            start = {"start": {"toolUse": {"toolUseId": call_id, "name": name}}, "contentBlockIndex": index}
            pieces_of_input = [delta(index, {"toolUse": {"input": piece}}) for piece in in_two(arguments_json)]
            return [{"event": "contentBlockStart", "payload": start}, *pieces_of_input]


def delta(index: int, content: object) -> ScriptStep:
    return {"event": "contentBlockDelta", "payload": {"delta": content, "contentBlockIndex": index}}


def in_two(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def completion(*parts: Part, stop: StopReason = "end_turn") -> Completion:
    return Completion(parts, stop, USAGE)


def test_a_turn_comes_back_part_by_part_in_its_order(stage: SetStage) -> None:
    turn = completion(
        Thought("The user wants the time.", "c2lnbmVk"),
        SaidText("Let me look."),
        WantedCall("tooluse_1", "get_time", '{"city": "Tōkyō"}'),
        stop="tool_use",
    )
    assert stage([turn]).perform() == [turn]


def test_several_calls_of_one_turn_are_kept_in_order_even_under_one_id(stage: SetStage) -> None:
    turn = completion(
        WantedCall("call_1", "first", '{"n": 1}'), WantedCall("call_1", "second", '{"n": 2}'), stop="tool_use"
    )
    assert stage([turn]).perform() == [turn]


def test_arguments_that_were_cut_off_are_kept_as_they_were_written(stage: SetStage) -> None:
    turn = completion(WantedCall("call_1", "run_build", '{"seconds": 1'), stop="max_tokens")
    assert stage([turn]).perform() == [turn]


def test_a_turn_without_words_and_calls_is_a_completion(stage: SetStage) -> None:
    assert stage([completion()]).perform() == [completion()]


@pytest.mark.parametrize("stop", get_args(StopReason))
def test_the_stop_reason_comes_through(stage: SetStage, stop: StopReason) -> None:
    assert stage([completion(SaidText("Yes."), stop=stop)]).perform()[0].stop == stop


def test_text_of_any_script_and_size_is_unchanged(stage: SetStage) -> None:
    text = "é 東京 🏗️ \u200d \x7f \\u0041 " * 5_000
    assert stage([completion(SaidText(text))]).perform() == [completion(SaidText(text))]


@pytest.mark.parametrize("error", [error for error, _ in ERRORS], ids=str)
def test_a_failure_is_raised_as_what_must_happen_next(stage: SetStage, error: RuntimeProblem) -> None:
    model, (request,) = (set_up := stage([error])).model, set_up.requests
    with pytest.raises(type(error)) as raised:
        model.complete(request, SHORT_S if isinstance(error, CutByDeadline) else TIMEOUT_S)
    assert type(raised.value) is type(error)


@pytest.mark.parametrize("error", [error for error, _ in ERRORS if isinstance(error, RetryableError)], ids=str)
def test_a_failure_leaves_nothing_behind_for_the_next_request(stage: SetStage, error: RuntimeProblem) -> None:
    whole = completion(SaidText("Whole."))
    model, (failing, working) = (set_up := stage([error, whole])).model, set_up.requests
    with pytest.raises(RetryableError):
        model.complete(failing, SHORT_S)
    assert model.complete(working, TIMEOUT_S) == whole


def test_threads_share_a_model_and_every_answer_is_given_once(stage: SetStage) -> None:
    turns = [completion(SaidText(f"Answer {number}.")) for number in range(24)]
    set_up = stage(turns)
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(lambda request: set_up.model.complete(request, TIMEOUT_S), set_up.requests)
    assert sorted(map(str, answers)) == sorted(map(str, turns))
