"""Every error shape of the service and of botocore, as it arrives, and what the slice is told to do about it."""

from collections.abc import Iterator
from typing import cast

import boto3
import botocore.exceptions
import botocore.session
import pytest
from botocore.exceptions import BotoCoreError, ClientError, EventStreamError, ParamValidationError
from botocore.model import StructureShape

from runtime.adapters.aws.bedrock import BedrockModel, client_config
from runtime.adapters.aws.bedrock_errors import translated
from runtime.adapters.aws.bedrock_request import BedrockOptions
from runtime.errors import Misconfigured, ModelUnavailable, PermanentError, RuntimeProblem, TooLong
from tests.support.bedrock import ScriptStep, asking, model_at, request_playing, serving

SERVICE = botocore.session.get_session().get_service_model("bedrock-runtime")
OPERATION = SERVICE.operation_model("ConverseStream")
STREAM = cast(StructureShape, SERVICE.shape_for("ConverseStreamOutput"))

# By name, so that a shape which a newer botocore adds fails the test until somebody has judged it.
HTTP_SHAPES: dict[str, type[RuntimeProblem]] = {
    "AccessDeniedException": Misconfigured,
    "ResourceNotFoundException": Misconfigured,
    "ThrottlingException": ModelUnavailable,
    "ModelTimeoutException": ModelUnavailable,
    "InternalServerException": ModelUnavailable,
    "ServiceUnavailableException": ModelUnavailable,
    "ModelNotReadyException": ModelUnavailable,
    "ModelErrorException": ModelUnavailable,
    "ValidationException": PermanentError,
}
STREAM_SHAPES: dict[str, type[RuntimeProblem]] = {
    "internalServerException": ModelUnavailable,
    "modelStreamErrorException": ModelUnavailable,
    "throttlingException": ModelUnavailable,
    "serviceUnavailableException": ModelUnavailable,
    "validationException": PermanentError,
}
# Codes that every AWS service may answer with ("Common Errors" of the API references), and a proxy's own answers.
COMMON: list[tuple[str, int, type[RuntimeProblem]]] = [
    ("ExpiredTokenException", 403, Misconfigured),
    ("UnrecognizedClientException", 403, Misconfigured),
    ("InvalidSignatureException", 403, Misconfigured),
    ("IncompleteSignatureException", 400, Misconfigured),
    ("MissingAuthenticationTokenException", 403, Misconfigured),
    ("OptInRequired", 403, Misconfigured),
    ("RequestExpired", 400, Misconfigured),
    ("UnknownOperationException", 404, Misconfigured),
    ("SomethingNobodyKnows", 400, Misconfigured),
    ("TooManyRequestsException", 429, ModelUnavailable),
    ("ServiceQuotaExceededException", 400, ModelUnavailable),
    ("RequestTimeoutException", 408, ModelUnavailable),
    ("InternalFailure", 500, ModelUnavailable),
    ("SomethingNobodyKnows", 502, ModelUnavailable),
    ("SomethingNobodyKnows", 529, ModelUnavailable),
    ("RequestEntityTooLargeException", 413, TooLong),
    ("SerializationException", 400, PermanentError),
]
# As users of the models reported them; all are a ValidationException, before the stream or within it.
TOO_LONG = [
    "Input is too long for requested model.",
    "The model returned the following errors: prompt is too long: 200049 tokens > 200000 maximum",
    "The model returned the following errors: input length and `max_tokens` exceed context limit: 178902 + 32000 > "
    "200000, decrease input length or `max_tokens` and try again",
    "too many total text bytes: 9000001 > 9000000",
    "The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length. "
    "Please update the input to try again.",
    "This model's maximum context length is 131072 tokens. Please reduce the length of the prompt",
    "The model returned the following errors: Range of input length should be [1, 258048]",
    "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
    "400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 9279",
]
NOT_THE_INPUT = [
    "The provided model identifier is invalid.",
    "Invocation of model ID a.b with on-demand throughput isn\u2019t supported. "
    "Retry your request with the ID or ARN of an inference profile that contains this model.",
    "Operation not allowed",
    "The maximum tokens you requested exceeds the model limit of 10000. Try again with a lower value.",
    "max_tokens: 999999 > 128000, which is the maximum allowed number of output tokens for claude",
    "This model doesn't support tool use in streaming mode.",
    "You invoked an unsupported model or your request did not allow prompt caching.",
]
REFUSED = [
    "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: call_1.",
    "This model doesn't support the image content block that you provided.",
    "Could not process image",
    "messages.1.content.0.text: Field required",
]


@pytest.fixture(scope="module")
def model() -> Iterator[BedrockModel]:
    with serving() as url:
        yield model_at(url)


def raised_by(model: BedrockModel, *steps: ScriptStep) -> RuntimeProblem:
    with pytest.raises(RuntimeProblem) as raised:
        model.complete(request_playing(steps), 5)
    return raised.value


def test_every_error_shape_of_the_operation_has_been_judged() -> None:
    in_stream = {name for name, shape in STREAM.members.items() if shape.metadata.get("exception")}
    assert {shape.name for shape in OPERATION.error_shapes} == HTTP_SHAPES.keys()
    assert in_stream == STREAM_SHAPES.keys()


@pytest.mark.parametrize(("shape", "problem"), HTTP_SHAPES.items())
def test_an_error_before_the_stream(model: BedrockModel, shape: str, problem: type[RuntimeProblem]) -> None:
    assert type(raised_by(model, {"refuse": shape})) is problem


@pytest.mark.parametrize(("shape", "problem"), STREAM_SHAPES.items())
def test_an_error_in_the_middle_of_the_stream(model: BedrockModel, shape: str, problem: type[RuntimeProblem]) -> None:
    assert type(raised_by(model, {"say": ["two ", "deltas"]}, {"break": shape})) is problem


def test_an_error_in_the_stream_that_the_service_does_not_name_may_pass(model: BedrockModel) -> None:
    assert type(raised_by(model, {"say": "a"}, {"break": "hardwareOnFireException"})) is ModelUnavailable


@pytest.mark.parametrize(("code", "status", "problem"), COMMON)
def test_an_error_any_service_may_answer(
    model: BedrockModel, code: str, status: int, problem: type[RuntimeProblem]
) -> None:
    assert type(raised_by(model, {"refuse": code, "status": status})) is problem


@pytest.mark.parametrize("message", TOO_LONG)
def test_a_request_over_the_window_is_too_long_in_whatever_words(model: BedrockModel, message: str) -> None:
    assert type(raised_by(model, {"refuse": "ValidationException", "message": message})) is TooLong
    assert type(raised_by(model, {"break": "validationException", "message": message})) is TooLong


@pytest.mark.parametrize("message", NOT_THE_INPUT)
def test_a_refusal_that_any_other_request_would_meet_withholds_nothing(model: BedrockModel, message: str) -> None:
    assert type(raised_by(model, {"refuse": "ValidationException", "message": message})) is Misconfigured


@pytest.mark.parametrize("message", REFUSED)
def test_a_refusal_of_what_was_said_is_permanent(model: BedrockModel, message: str) -> None:
    assert type(raised_by(model, {"refuse": "ValidationException", "message": message})) is PermanentError


def test_a_message_of_the_service_is_kept_as_the_cause_and_never_repeated(model: BedrockModel) -> None:
    problem = raised_by(model, {"refuse": "ValidationException", "message": "you said: my secret"})
    assert "secret" not in str(problem)
    assert "secret" in str(problem.__cause__)


def test_missing_credentials_are_a_matter_of_configuration() -> None:
    session = botocore.session.get_session()
    session.full_config["profiles"] = {}
    session.get_component("credential_provider").providers = []
    client = boto3.Session(botocore_session=session, region_name="us-east-1").client(
        "bedrock-runtime", endpoint_url="http://127.0.0.1:9", config=client_config()
    )
    with pytest.raises(Misconfigured):
        BedrockModel(client, BedrockOptions("test.model")).complete(asking("a"), 5)


def test_arguments_that_botocore_refuses_are_never_accepted() -> None:
    with pytest.raises(PermanentError):
        model_at("http://127.0.0.1:9", BedrockOptions("")).complete(asking("a"), 5)


def every(base: type[Exception]) -> list[type[Exception]]:
    found = [kind for kind in vars(botocore.exceptions).values() if isinstance(kind, type) and issubclass(kind, base)]
    return sorted(found, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", every(BotoCoreError))
def test_no_failure_of_botocore_itself_withholds_a_message(kind: type[Exception]) -> None:
    expected = PermanentError if kind is ParamValidationError else (ModelUnavailable, Misconfigured)
    assert isinstance(translated(kind.__new__(kind)), expected)


@pytest.mark.parametrize("kind", [ClientError, EventStreamError])
def test_an_error_answer_without_anything_in_it_may_pass(kind: type[ClientError]) -> None:
    assert type(translated(kind({}, "ConverseStream"))) is ModelUnavailable


@pytest.mark.parametrize("error", [KeyError("x"), OSError(), UnicodeDecodeError("utf-8", b"", 0, 1, "x"), ValueError()])
def test_whatever_else_goes_wrong_while_reading_is_a_broken_stream(error: Exception) -> None:
    assert type(translated(error)) is ModelUnavailable
