"""Every failure of botocore becomes one of ours, and the right one."""

import inspect
from typing import Any

import botocore.exceptions
import pytest
from botocore.exceptions import BotoCoreError, ClientError
from botocore.retries import standard

from runtime.adapters.aws.errors import code_of, store_problem, translated
from runtime.errors import Misconfigured, RetryableError, Unavailable

PASSING = {
    "ChecksumError",
    "ConnectTimeoutError",
    "ConnectionClosedError",
    "ConnectionError",
    "CredentialRetrievalError",
    "EndpointConnectionError",
    "FlexibleChecksumError",
    "HTTPClientError",
    "IncompleteReadError",
    "MetadataRetrievalError",
    "ProxyConnectionError",
    "ReadTimeoutError",
    "ResponseStreamingError",
    "SSLError",
}


def client_error(code: str, status: int) -> ClientError:
    response: Any = {
        "Error": {"Code": code, "Message": "the text of a user"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(response, "SendMessageBatch")


def botocore_errors() -> list[type[BotoCoreError]]:
    return [
        found
        for _, found in inspect.getmembers(botocore.exceptions, inspect.isclass)
        if issubclass(found, BotoCoreError)
    ]


def codes_botocore_repeats() -> list[str]:
    lists: Any = standard  # the two lists are private, and the only statement of these codes
    throttled, transient = lists.ThrottledRetryableChecker, lists.TransientRetryableChecker
    return sorted({*throttled._THROTTLED_ERROR_CODES, *transient._TRANSIENT_ERROR_CODES})


@pytest.mark.parametrize("kind", botocore_errors(), ids=lambda kind: kind.__name__)
def test_every_error_of_botocore_becomes_one_of_ours(kind: type[BotoCoreError]) -> None:
    error = kind.__new__(kind)

    problem = store_problem(error)

    assert type(problem) is (Unavailable if kind.__name__ in PASSING else Misconfigured)


@pytest.mark.parametrize("code", codes_botocore_repeats())
def test_whatever_botocore_itself_would_repeat_passes_by_itself(code: str) -> None:
    assert type(store_problem(client_error(code, 400))) is Unavailable


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_server_that_fails_is_unavailable_whatever_it_says(status: int) -> None:
    assert type(store_problem(client_error("SomethingNew", status))) is Unavailable


@pytest.mark.parametrize(
    "code",
    [
        "AccessDeniedException",
        "AWS.SimpleQueueService.NonExistentQueue",
        "ExpiredTokenException",
        "InvalidSignatureException",
        "NoSuchBucket",
        "ResourceNotFoundException",
        "UnrecognizedClientException",
        "ValidationException",
    ],
)
def test_what_no_waiting_mends_is_for_a_person_to_look_at(code: str) -> None:
    assert type(store_problem(client_error(code, 400))) is Misconfigured


def test_the_message_names_operation_and_code_and_never_the_services_words() -> None:
    problem = store_problem(client_error("AWS.SimpleQueueService.NonExistentQueue", 400))

    assert str(problem) == "SendMessageBatch failed with NonExistentQueue"


def test_an_answer_without_a_code_is_still_an_error() -> None:
    error = ClientError({}, "SendMessage")

    assert code_of(error) == "Unknown"
    assert type(store_problem(error)) is Unavailable


def test_the_foreign_error_stays_as_the_cause() -> None:
    foreign = client_error("ThrottlingException", 400)

    with pytest.raises(RetryableError) as caught, translated():
        raise foreign

    assert caught.value.__cause__ is foreign


def test_other_errors_pass_untouched() -> None:
    with pytest.raises(KeyError), translated():
        raise KeyError("ours")
