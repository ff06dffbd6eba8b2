"""The network underneath HTTP: names resolved and addresses judged by us, and one deadline over everything."""

import math
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

import httpcore

from runtime.adapters.http.addresses import AddressPolicy

# Parts of a body that are sent under one look at the clock: about what a socket takes at once.
_WRITE_BYTES = 4_096

# Given host, port and the monotonic time until which to try, returns the host's addresses.
Resolve = Callable[[str, int, float], list[str]]


class AddressRefused(httpcore.ConnectError):
    """Every address of the host is one the deployment does not allow."""


class NameUnknown(httpcore.ConnectError):
    """The host's name has no address."""


class ConnectionRefused(httpcore.ConnectError):
    """Nobody listens there."""


class TlsRefused(httpcore.ConnectError):
    """No acceptable certificate, or no TLS at all."""


class Deadline(threading.local):
    """When the current thread's exchange must be over, on the monotonic clock.

    The library's timeouts are per read: a server that sends a byte a second would hold a slice for as long as it
    likes. Per thread, because a connection outlives the exchange it was opened for.
    """

    at = math.inf

    def left(self, timeout: float | None) -> float:
        """Return the seconds that an operation may take, 0 when the time is over."""
        return max(0.0, min(math.inf if timeout is None else timeout, self.at - time.monotonic()))


class GuardedBackend(httpcore.NetworkBackend):
    """Connects to permitted addresses only: the address that was judged is the one connected to."""

    def __init__(self, policy: AddressPolicy, deadline: Deadline, resolve: Resolve | None = None) -> None:
        self._policy = policy
        self._deadline = deadline
        self._resolve = resolve or resolved
        self._network = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,  # the library's own type for them is private
    ) -> httpcore.NetworkStream:
        """Try the host's permitted addresses in the resolver's order.

        Raises:
            AddressRefused: it has none.
            NameUnknown: it has no address at all.
        """
        until = time.monotonic() + self._deadline.left(timeout)
        addresses = [each for each in self._resolve(host, port, until) if self._policy.permits(each)]
        if not addresses:
            raise AddressRefused("no address of the host is allowed")
        for address in addresses[:-1]:
            with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                return self._connect(address, port, until, local_address, socket_options)
        return self._connect(addresses[-1], port, until, local_address, socket_options)

    def _connect(
        self, address: str, port: int, until: float, local_address: str | None, socket_options: Iterable[Any] | None
    ) -> httpcore.NetworkStream:
        left = _left(until)
        try:
            stream = self._network.connect_tcp(address, port, left, local_address, socket_options)
        except httpcore.ConnectError as error:
            # Told apart here, because the library's pool takes the cause off what it passes on.
            if isinstance(error.__cause__, ConnectionRefusedError):
                raise ConnectionRefused("nobody listens there") from error
            raise
        return TimedStream(stream, self._deadline)


class TimedStream(httpcore.NetworkStream):
    """A connection on which no operation reaches past the deadline of the thread that asks for it."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = self._deadline.left(timeout)
        if not left:
            raise httpcore.ReadTimeout("the time is over")
        return self._stream.read(max_bytes, left)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _WRITE_BYTES):
            left = self._deadline.left(timeout)
            if not left:
                raise httpcore.WriteTimeout("the time is over")
            self._stream.write(buffer[start : start + _WRITE_BYTES], left)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = self._deadline.left(timeout)
        if not left:
            raise httpcore.ConnectTimeout("the time is over")
        try:
            secured = self._stream.start_tls(ssl_context, server_hostname, left)
        except httpcore.ConnectError as error:
            if isinstance(error.__cause__, ssl.SSLError):
                raise TlsRefused("the certificate or the protocol is not acceptable") from error
            raise
        return TimedStream(secured, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise httpcore.ConnectTimeout("the time is over")
    return left


def resolved(host: str, port: int, until: float) -> list[str]:
    """Return the host's addresses. In a thread, because the resolver knows no time limit.

    Raises:
        NameUnknown: it has none.
    """
    with suppress(ValueError):
        return [str(ip_address(host.strip("[]")))]
    answers: queue.SimpleQueue[list[str] | OSError] = queue.SimpleQueue()
    threading.Thread(target=_ask_resolver, args=(host, port, answers), daemon=True).start()
    try:
        answer = answers.get(timeout=_left(until))
    except queue.Empty:
        raise httpcore.ConnectTimeout("the name was not resolved in time") from None
    if isinstance(answer, OSError):
        raise NameUnknown("the name could not be resolved") from answer
    return answer


def _ask_resolver(host: str, port: int, answers: "queue.SimpleQueue[list[str] | OSError]") -> None:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        answers.put(error if isinstance(error, OSError) else OSError("not a name"))
    else:
        answers.put(list(dict.fromkeys(str(address[0]) for *_, address in found)))
