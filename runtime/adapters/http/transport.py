"""One HTTP exchange: a request out, a status in, within a time. No redirects, no proxies, no endless bodies."""

import contextlib
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import httpcore

from runtime.adapters.http.addresses import AddressPolicy
from runtime.adapters.http.network import (
    AddressRefused,
    ConnectionRefused,
    Deadline,
    GuardedBackend,
    NameUnknown,
    TlsRefused,
)
from runtime.errors import HandOverFailed

_KEPT_CONNECTIONS = 10
_CONNECTIONS = 32
# Kept for the next call of the same environment; most servers close an idle connection themselves after a minute.
_KEEPALIVE_S = 30.0
# A body nobody reads is read all the same, this far, so that the connection can be used again.
_DRAINED_BYTES = 64 * 1024
_DRAINED_S = 0.25


class Uncertain(Exception):
    """Nobody knows whether the server took the request. `retry_after` is the header of that name."""

    def __init__(self, reason: str, retry_after: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class HttpRequest:
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


class Transport:
    """Shared by all threads of a process, so that they share connections."""

    def __init__(self, policy: AddressPolicy, connect_s: float, ssl_context: ssl.SSLContext | None = None) -> None:
        self._connect_s = connect_s
        self._deadline = Deadline()
        self._backend = GuardedBackend(policy, self._deadline)
        self._ssl_context = ssl_context
        self._pools: dict[str, httpcore.ConnectionPool] = {}
        self._lock = threading.Lock()

    def deliver(self, request: HttpRequest, time_s: float) -> None:
        """Send the request. Returning means that the server accepted it (2xx); its body is ignored.

        Raises:
            HandOverFailed: it was surely not accepted.
            Uncertain: nobody knows, and it may be sent again.
        """
        with self._translated(time_s), self._sent(request, time_s) as response:
            _judge(response)
            self._drain(response)

    def fetch(self, request: HttpRequest, time_s: float, limit_bytes: int) -> bytes:
        """Return the body of a 2xx answer.

        Raises:
            HandOverFailed: there is none, or it is larger than the limit.
            Uncertain: it may be asked for again.
        """
        with self._translated(time_s), self._sent(request, time_s) as response:
            _judge(response)
            body = bytearray()
            for chunk in response.iter_stream():
                body += chunk
                if len(body) > limit_bytes:
                    raise HandOverFailed(f"the tool server's answer is larger than {limit_bytes} bytes")
            return bytes(body)

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def _sent(self, request: HttpRequest, time_s: float) -> contextlib.AbstractContextManager[httpcore.Response]:
        timeouts = {"connect": min(self._connect_s, time_s), "read": time_s, "write": time_s, "pool": time_s}
        return self._pool(request.url.partition(":")[0]).stream(
            request.method,
            request.url,
            headers=list(request.headers.items()),
            content=request.body,
            extensions={"timeout": timeouts},
        )

    def _pool(self, scheme: str) -> httpcore.ConnectionPool:
        """Made when first needed, one for each scheme: reading the certificates takes longer than a whole slice."""
        with self._lock:
            pool = self._pools.get(scheme)
            if pool is None:
                if scheme == "https" and self._ssl_context is None:
                    self._ssl_context = httpcore.default_ssl_context()
                pool = self._pools[scheme] = httpcore.ConnectionPool(
                    ssl_context=self._ssl_context,
                    max_connections=_CONNECTIONS,
                    max_keepalive_connections=_KEPT_CONNECTIONS,
                    keepalive_expiry=_KEEPALIVE_S,
                    network_backend=self._backend,
                )
            return pool

    def _drain(self, response: httpcore.Response) -> None:
        """Read what little may be left. The request is accepted; how its answer ends changes nothing."""
        self._deadline.at = min(self._deadline.at, time.monotonic() + _DRAINED_S)
        drained = 0
        with contextlib.suppress(httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError):
            for chunk in response.iter_stream():
                drained += len(chunk)
                if drained > _DRAINED_BYTES:
                    return

    @contextlib.contextmanager
    def _translated(self, time_s: float) -> Iterator[None]:
        """Set the deadline for what is inside, and translate the library's errors: here and nowhere else."""
        self._deadline.at = time.monotonic() + time_s
        try:
            yield
        except AddressRefused as error:
            raise HandOverFailed("the tool server's address is not allowed by this deployment") from error
        except NameUnknown as error:
            raise HandOverFailed("the tool server's name could not be resolved") from error
        except ConnectionRefused as error:
            raise HandOverFailed("the tool server refused the connection") from error
        except TlsRefused as error:
            raise HandOverFailed("the tool server's TLS certificate or protocol was not acceptable") from error
        except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.RemoteProtocolError) as error:
            raise _uncertain(error) from error
        except (httpcore.LocalProtocolError, httpcore.UnsupportedProtocol) as error:
            raise HandOverFailed("the request to the tool server could not be formed") from error
        finally:
            self._deadline.at = float("inf")


def _uncertain(error: Exception) -> Uncertain:
    if isinstance(error, httpcore.ConnectError):
        return Uncertain("the tool server could not be reached")
    if isinstance(error, httpcore.ConnectTimeout | httpcore.PoolTimeout):
        return Uncertain("the tool server could not be reached in time")
    if isinstance(error, httpcore.TimeoutException):
        return Uncertain("the tool server did not answer in time")
    return Uncertain("the connection to the tool server was lost")


def _judge(response: httpcore.Response) -> None:
    """Tell accepted, refused and uncertain apart by the status."""
    status = response.status
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise HandOverFailed("the tool server answered with a redirect, which is not followed")
    if status >= 500 or status in (408, 425, 429):
        raise Uncertain(f"the tool server failed (HTTP {status})", _header(response, b"retry-after"))
    raise HandOverFailed(f"the tool server refused the request (HTTP {status})")


def _header(response: httpcore.Response, name: bytes) -> str | None:
    for given, value in response.headers:
        if given.lower() == name:
            return value.decode("latin-1")
    return None
