"""Every way Bedrock and botocore can fail, as errors of the runtime. Pure.

The question is who can help: time (`ModelUnavailable`), a person (`Misconfigured`), a shorter request (`TooLong`),
or nobody (`PermanentError`). The last withholds a user's message from the model for ever, so it takes the service's
clear word; whatever is not known is retried.
"""

import re
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ChecksumError, ClientError, HTTPClientError, ParamValidationError
from botocore.exceptions import ConnectionError as BotoConnectionError

from runtime.errors import Misconfigured, ModelUnavailable, PermanentError, RuntimeProblem, TooLong

# How Bedrock's models word that a request does not fit, as users reported it; the code is ValidationException for all.
_TOO_LONG = re.compile(
    "|".join(
        (
            r"(?:input|prompt) is too long",  # Claude
            r"exceeds? (?:the |its )?context (?:limit|window|length)",  # Claude: input and max_tokens together; others
            r"too many total text bytes",  # Claude, by size
            r"input tokens exceeded|number of input tokens exceeds",  # Nova, in the middle of a stream
            r"maximum context length",  # Llama, Qwen, DeepSeek, gpt-oss
            r"maximum prompt length|range of input length",  # Grok; Qwen
            r"too large for model with",  # Mistral
            r"too many input tokens",  # Titan
        )
    ),
    re.IGNORECASE,
)

# Words of a ValidationException that is about the deployment, not about what a user said: the model, the account, or
# a setting. Any other request would be refused as well.
_NOT_OUR_INPUT = re.compile(
    "|".join(
        (
            r"model identifier is invalid",  # misspelt, or a profile of another region
            r"on-demand throughput isn.t supported",  # needs an inference profile
            r"operation not allowed|access to (?:this|the) model|model use case details|end of its life",
            r"maximum tokens you requested|maximum allowed number of output tokens",  # max_tokens is set too high
            r"doesn.t support (?:tool use|system messages|the model|streaming)",
            r"unsupported model|thinking\S* is not supported",  # also how prompt caching is refused
        )
    ),
    re.IGNORECASE,
)

_REFUSED = frozenset({"ValidationException", "SerializationException"})
_TIME_HELPS = frozenset(
    {
        "ThrottlingException",
        "TooManyRequestsException",
        "ServiceQuotaExceededException",
        "ModelTimeoutException",
        "ModelNotReadyException",
        "ModelErrorException",
        "ModelStreamErrorException",
        "InternalServerException",
        "InternalFailure",
        "ServiceUnavailableException",
        "ServiceUnavailable",
        "RequestTimeout",
        "RequestTimeoutException",
    }
)
_TIME_HELPS_STATUS = frozenset({408, 424, 425, 429})
_SERVER_FAULT = 500
_BODY_TOO_LARGE = 413


def translated(error: Exception) -> RuntimeProblem:
    """Return what an exception of botocore, or of what lies below it, means for the slice.

    The message names the service's code and never repeats its text, which may quote the conversation; the cause
    keeps it.
    """
    match error:
        case ClientError():
            return _from_service(error.response)
        case ParamValidationError():
            return PermanentError("botocore refused the request's shape")
        case HTTPClientError() | BotoConnectionError() | ChecksumError():
            return ModelUnavailable(f"no answer from Bedrock: {type(error).__name__}")
        case BotoCoreError():  # credentials, region, endpoint, profile
            return Misconfigured(f"Bedrock cannot be called as configured: {type(error).__name__}")
        case _:  # a stream that broke: urllib3, checksums, frames that are none
            return ModelUnavailable(f"Bedrock's answer broke off: {type(error).__name__}")


def _from_service(response: Mapping[str, Any]) -> RuntimeProblem:
    error = response.get("Error", {})
    metadata = response.get("ResponseMetadata", {})
    status = metadata.get("HTTPStatusCode", 0)
    # In a stream the same names begin with a small letter.
    code = str(error.get("Code", ""))
    code = code[:1].upper() + code[1:]
    said = f"Bedrock answered {code} (status {status or 'in the stream'}, request {metadata.get('RequestId', '?')})"
    if code in _REFUSED:
        return _refusal(said, str(error.get("Message", "")))
    if status == _BODY_TOO_LARGE:
        return TooLong(said)
    if code in _TIME_HELPS or status in _TIME_HELPS_STATUS or status >= _SERVER_FAULT:
        return ModelUnavailable(said)
    # An error within a stream has no status, and the request had been accepted: what is unknown there may pass.
    return Misconfigured(said) if status else ModelUnavailable(said)


def _refusal(said: str, message: str) -> RuntimeProblem:
    if _TOO_LONG.search(message):
        return TooLong(said)
    if _NOT_OUR_INPUT.search(message):
        return Misconfigured(said)
    return PermanentError(said)
