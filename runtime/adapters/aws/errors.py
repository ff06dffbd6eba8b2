"""What a failure of a store, a queue, a schedule or a secret means for the slice. The model's are in `bedrock_errors`.

None of them ever means that the input is at fault: either the service will answer later, or a person has to look.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ChecksumError,
    ClientError,
    CredentialRetrievalError,
    FlexibleChecksumError,
    HTTPClientError,
    IncompleteReadError,
    MetadataRetrievalError,
)
from botocore.exceptions import (
    ConnectionError as BotoConnectionError,
)

from runtime.errors import Misconfigured, RetryableError, Unavailable

# Failures between us and the service, or of a service that answered with half a body.
_ON_THE_WAY = (
    BotoConnectionError,
    HTTPClientError,
    IncompleteReadError,
    ChecksumError,
    FlexibleChecksumError,
    CredentialRetrievalError,
    MetadataRetrievalError,
)
# Codes that come with a status of the 400s and still pass by themselves. Source: the service models in botocore, and
# the codes that its "standard" retry mode repeats.
_PASSING_CODES = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "InternalServiceError",
        "KMSThrottlingException",
        "KmsThrottled",
        "LimitExceededException",
        "OperationAborted",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "RequestTimeout",
        "RequestTimeoutException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
_PASSING_STATUSES = frozenset({408, 425, 429})


def store_problem(error: ClientError | BotoCoreError) -> RetryableError:
    """Return what to raise: `Unavailable` for what passes by itself, `Misconfigured` for what a person must look at.

    The message names the operation and the code; the service's own words may repeat the request and are left out.
    """
    if isinstance(error, ClientError):
        code = code_of(error)
        kind = Unavailable if _passes(code, _status_of(error)) else Misconfigured
        return kind(f"{error.operation_name} failed with {code}")
    kind = Unavailable if isinstance(error, _ON_THE_WAY) else Misconfigured
    return kind(f"an AWS request failed with {type(error).__name__}")


def code_of(error: ClientError) -> str:
    """Return the service's code, without the namespace that SQS puts in front of some."""
    return str(error.response.get("Error", {}).get("Code", "Unknown")).rpartition(".")[2]


@contextmanager
def translated() -> Iterator[None]:
    """Turn botocore's errors into ours, for everything done inside."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise store_problem(error) from error


def _status_of(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500))


def _passes(code: str, status: int) -> bool:
    return code in _PASSING_CODES or status in _PASSING_STATUSES or status >= 500
