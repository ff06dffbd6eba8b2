"""The model port over Amazon Bedrock's ConverseStream: one request, one stream, no retries of its own.

What is sent is made in `bedrock_request`, what comes back is read in `bedrock_stream`, what fails is judged in
`bedrock_errors`; here is only the conversation with the network and its time limit.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from botocore.config import Config

from runtime.adapters.aws.bedrock_errors import translated
from runtime.adapters.aws.bedrock_request import BedrockOptions, Json, converse_arguments
from runtime.adapters.aws.bedrock_stream import Event, read_completion
from runtime.errors import CutByDeadline
from runtime.model.turns import Completion, ModelRequest

if TYPE_CHECKING:
    from types_boto3_bedrock_runtime import BedrockRuntimeClient

CONNECT_S = 3.0
_READ_TIMEOUT = "_read_timeout_s"
_CUT = "the answer was still being written when its time was over"
_BEFORE_BUILD = "before-parameter-build.bedrock-runtime.ConverseStream"


def client_config(threads: int = 10) -> Config:
    """Return the configuration of the one client an environment keeps for so many worker threads.

    Retries are off: a read timeout would start, and bill, a second generation that nobody decided on.
    """
    return Config(
        connect_timeout=CONNECT_S,
        retries={"total_max_attempts": 1, "mode": "standard"},
        max_pool_connections=threads,
        tcp_keepalive=True,  # long thinking is silent, and NAT gateways drop a connection idle for 350 s
    )


class BedrockModel:
    """`Model` over ConverseStream. Threads may share one, as they may its client."""

    def __init__(self, client: "BedrockRuntimeClient", options: BedrockOptions) -> None:
        self._client = client
        self._options = options
        client.meta.events.register(_BEFORE_BUILD, _take_read_timeout, unique_id=_READ_TIMEOUT)

    def complete(self, request: ModelRequest, timeout_s: float) -> Completion:
        """Ask once and read to the end within `timeout_s`; a new connection may take `CONNECT_S` more.

        An answer that has begun when the time is over was cut by the deadline; one that has not begun, or has been
        silent for `stall_s`, is a model that is not available.
        """
        ends_at_s = time.monotonic() + timeout_s
        arguments = converse_arguments(request, self._options)
        stream = self._open(arguments, min(timeout_s, self._options.stall_s))
        with _limited(stream, ends_at_s - time.monotonic()) as limit:
            return read_completion(_events(stream, limit))

    def _open(self, arguments: Json, read_timeout_s: float) -> Any:
        try:
            return self._client.converse_stream(**(arguments | {_READ_TIMEOUT: read_timeout_s}))["stream"]
        except Exception as error:
            raise translated(error) from error


def _take_read_timeout(params: Json, context: Json, **_: object) -> None:
    """Bound the silence of this one call: botocore takes a request's own read timeout from its context alone."""
    context["read_timeout"] = params.pop(_READ_TIMEOUT)


class _TimeLimit:
    """`begun`: some of the answer has come. `over`: the time is, and the stream is being ended."""

    def __init__(self) -> None:
        self.begun = False
        self.over = False


@contextmanager
def _limited(stream: Any, seconds: float) -> Iterator[_TimeLimit]:
    """End the stream when the time is over, also while a thread waits for its next byte. Closes it in any case.

    A read timeout alone cannot do this: every byte starts it anew.
    """
    limit = _TimeLimit()
    # Closing would wait for the reader; urllib3's shutdown is made to wake one. botocore shows it only privately.
    body = stream._raw_stream
    ending = threading.Lock()

    def end() -> None:
        with ending, suppress(ValueError, RuntimeError, OSError):  # read to its end or closed meanwhile
            limit.over = True
            body.shutdown()

    timer = threading.Timer(max(seconds, 0), end)
    timer.daemon = True
    timer.start()
    try:
        yield limit
    finally:
        timer.cancel()
        with ending:
            stream.close()


def _events(stream: Any, limit: _TimeLimit) -> Iterator[Event]:
    """Yield the events. Whatever goes wrong below is translated here, in whatever shape it comes."""
    try:
        for event in stream:
            limit.begun = True
            if limit.over:  # a socket that was shut down still gives what its buffer holds
                break
            yield event
    except Exception as error:
        if limit.over and limit.begun:
            raise CutByDeadline(_CUT) from error
        raise translated(error) from error
    if limit.over and limit.begun:
        raise CutByDeadline(_CUT)
