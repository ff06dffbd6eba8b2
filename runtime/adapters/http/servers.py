"""Tool servers over HTTP."""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Protocol, TypeVar

from runtime.adapters.http.addresses import AddressPolicy
from runtime.adapters.http.transport import HttpRequest, Transport, Uncertain
from runtime.errors import HandOverFailed, RuntimeProblem
from runtime.model.entries import JsonObject
from runtime.model.toolsets import Invocation, Notice, ToolServer
from runtime.ports import Clock
from runtime.settings import Settings
from runtime.tools.reach import reach_fault
from runtime.wire.rap import DISCOVERY_PATH, MAX_MANIFEST_BYTES

_FIRST_PAUSE_S = 0.3
_NOTICES_S = 1.0
_NOTICES_AT_ONCE = 32

Answer = TypeVar("Answer")


class Signer(Protocol):
    def sign(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, sign_as: str | None
    ) -> Mapping[str, str]:
        """Return the headers with a signature of the whole request among them.

        Raises:
            RetryableError: there are no credentials now.
        """


class BearerSource(Protocol):
    def token(self, secret_arn: str) -> str:
        """Return the bearer token kept in this secret.

        Raises:
            RetryableError: it is not to be had now.
        """


class HttpToolServers:
    """Safe to share between threads. Credentials go to a server's own hosts and nowhere else.

    They are asked for with each request: what was fetched at the start of a process expires.
    """

    def __init__(self, settings: Settings, signer: Signer, bearer: BearerSource, clock: Clock) -> None:
        self._transport = Transport(AddressPolicy(settings.allowed_private_networks), settings.http_connect_s)
        self._total_s = settings.http_total_s
        self._tries = settings.http_tries
        self._signer = signer
        self._bearer = bearer
        self._clock = clock

    def close(self) -> None:
        """Close the connections that are kept for later calls."""
        self._transport.close()

    def manifest(self, server: ToolServer) -> str:
        url = server.url.rstrip("/") + DISCOVERY_PATH

        def fetch(time_s: float) -> bytes:
            request = self._request("GET", server, url, {"Accept": "application/json"}, b"")
            return self._transport.fetch(request, time_s, MAX_MANIFEST_BYTES)

        body = self._until_certain(fetch, self._total_s)
        try:
            return body.decode()
        except UnicodeDecodeError as error:
            raise HandOverFailed("the tool server's manifest is not UTF-8") from error

    def invoke(self, invocation: Invocation, timeout_s: float) -> None:
        body = _json(invocation.body)
        headers = {"Content-Type": "application/json", "Idempotency-Key": invocation.idempotency_key}

        def deliver(time_s: float) -> None:
            request = self._request("POST", invocation.server, invocation.endpoint, headers, body)
            self._transport.deliver(request, time_s)

        self._until_certain(deliver, timeout_s)

    def notify(self, notices: Sequence[Notice]) -> int:
        """Threads that are not waited for any longer end by their own deadline, a moment later."""
        until = time.monotonic() + _NOTICES_S
        accepted: list[Notice] = []
        threads = [
            threading.Thread(target=self._tell, args=(notices[first::_NOTICES_AT_ONCE], until, accepted), daemon=True)
            for first in range(min(len(notices), _NOTICES_AT_ONCE))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        return len(accepted)

    def _tell(self, notices: Sequence[Notice], until: float, accepted: list[Notice]) -> None:
        for notice in notices:
            left = until - time.monotonic()
            if left <= 0:
                return
            url = notice.server.url.rstrip("/") + notice.path
            headers = {"Content-Type": "application/json"}
            try:
                request = self._request("POST", notice.server, url, headers, _json(notice.body))
                self._transport.deliver(request, left)
            except (RuntimeProblem, Uncertain):
                continue  # best effort: the server finds out when it calls back
            accepted.append(notice)

    def _request(
        self, method: str, server: ToolServer, url: str, headers: Mapping[str, str], body: bytes
    ) -> HttpRequest:
        fault = reach_fault(server, url)
        if fault is not None:
            raise HandOverFailed(f"the tool server's endpoint {fault}")
        match server.auth:
            case "sigv4":
                headers = self._signer.sign(method, url, headers, body, server.sign_as)
            case "bearer":
                token = self._bearer.token(server.secret_arn or "")
                headers = {**headers, "Authorization": f"Bearer {token}"}
            case "none":
                pass
        return HttpRequest(method, url, headers, body)

    def _until_certain(self, attempt: Callable[[float], Answer], timeout_s: float) -> Answer:
        """Repeat an exchange while nobody knows how it ended, and time and tries are left."""
        until = time.monotonic() + timeout_s
        earlier: Uncertain | None = None
        for number in range(self._tries):
            try:
                return attempt(min(self._total_s, until - time.monotonic()))
            except Uncertain as failure:
                earlier = failure
            except HandOverFailed as refusal:
                if earlier is None:
                    raise
                raise HandOverFailed(f"{refusal.reason}; an earlier try may have reached it") from refusal
            pause_s = max(self._backoff_s(number), self._asked_pause_s(earlier.retry_after))
            if number + 1 == self._tries or time.monotonic() + pause_s >= until:
                break
            self._clock.sleep(pause_s)
        reason = earlier.reason if earlier else "there was no time left to reach the tool server"
        raise HandOverFailed(f"{reason}; the call may be running all the same") from earlier

    def _backoff_s(self, number: int) -> float:
        return _FIRST_PAUSE_S * float(2**number) * (0.5 + self._clock.chance())

    def _asked_pause_s(self, retry_after: str | None) -> float:
        """Return the seconds of a Retry-After header: a number, or a date (RFC 9110, 10.2.3)."""
        if retry_after is None:
            return 0.0
        if retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 10:
            return float(retry_after)
        try:
            at = parsedate_to_datetime(retry_after)
            return max(0.0, at.replace(tzinfo=at.tzinfo or UTC).timestamp() - self._clock.now_ms() / 1000)
        except (ValueError, OverflowError, TypeError):
            return 0.0  # a date of another age asks for nothing that we could do


def _json(body: JsonObject) -> bytes:
    try:
        return json.dumps(body, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()
    except ValueError as error:
        raise HandOverFailed("the arguments hold a number that JSON does not know") from error
