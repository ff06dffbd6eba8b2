"""Requests in, calls out: the protocol's paths, and the memory that keeps a repeated call from running twice."""

import base64
import contextlib
import json
import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from .calls import CARRIED, Call, Json, NotTaken

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 1024 * 1024
KNOWN_CALLS = 1_000


class Refused(ValueError):
    """The request is none this server takes. `status` says why in HTTP's terms."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """`target` is path and query. Header names are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def base_url(self) -> str:
        """Where this server is for whoever sent the request."""
        return f"{self.headers.get('x-forwarded-proto', 'http')}://{self.headers.get('host', '')}"

    @property
    def key(self) -> str:
        """The same for a repeat of the request; unlike any other where the sender gave none."""
        given = self.headers.get("idempotency-key") or secrets.token_hex(8)
        if not given.isascii():
            raise Refused(400, "the Idempotency-Key is not ASCII")  # it is part of ours, and headers carry no more
        return given

    def fields(self) -> Json:
        if len(self.body) > MAX_BODY_BYTES:
            raise Refused(413, f"the body is larger than {MAX_BODY_BYTES} bytes")
        try:
            fields = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise Refused(400, "the body is not JSON") from error
        if not isinstance(fields, dict):
            raise Refused(400, "the body is not an object")
        return fields


class Intake:
    """Answers requests. `start` begins the work of a call: it may also do it at once, and may raise `NotTaken`."""

    def __init__(
        self, manifest: Callable[[], Json], start: Callable[[Call], None], callback_host: str | None = None
    ) -> None:
        self._manifest = manifest
        self._start = start
        self._callback_host = callback_host
        self._taken: OrderedDict[str, Call] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, request: Request) -> tuple[int, Json]:
        """Return status and body. A failure of ours is a 500, so it is tried again."""
        try:
            return self._answer(request)
        except Refused as refusal:
            return refusal.status, {"error": str(refusal)}
        except Exception:
            logger.exception("request not answered")
            return 500, {"error": "internal error"}

    def _answer(self, request: Request) -> tuple[int, Json]:
        target = urlsplit(request.target)
        match request.method, target.path.split("/")[1:]:
            case "GET", [".well-known", "rap-toolset"]:
                return 200, self._manifest()
            case "POST", ["call"]:
                self._take(Call(_invocation(request.fields()), request.base_url, request.key))
            case "GET", ["return", state]:
                self._take(_continued(state, request, dict(parse_qsl(target.query))))
            case "POST", ["return", state]:
                self._take(_continued(state, request, request.fields()))
            case "POST", ["cancel_tool_call"]:
                self._stop(request.fields(), ("thread_id", "tool_call_id"))
            case "POST", ["close_thread"]:
                self._stop(request.fields(), ("thread_id",))
            case _:
                raise Refused(404, "there is nothing here")
        return 202, {"ok": True}

    def _take(self, call: Call) -> None:
        """Start a call that is new here. Of one that is known, send what could not be sent."""
        self._check_callback(call.body["callback_url"])
        with self._lock:  # a repeat waits until it is known whether the first one could be started
            known = self._taken.get(call.run)
            if known is None:
                self._remember(call)
                self._start_or_forget(call)
        if known is not None:
            known.send_again()

    def _remember(self, call: Call) -> None:
        self._taken[call.run] = call
        if len(self._taken) > KNOWN_CALLS:
            self._taken.popitem(last=False)

    def _start_or_forget(self, call: Call) -> None:
        try:
            self._start(call)
        except NotTaken:
            raise  # it ran: a repeat has only to send what came of it
        except Exception:
            del self._taken[call.run]
            raise

    def _stop(self, notice: Json, named_by: tuple[str, ...]) -> None:
        """Tell the calls that nobody wants any more. Best effort: those that another process is at hear nothing."""
        with self._lock:
            for call in self._taken.values():
                names = {"thread_id": call.group_id, "tool_call_id": call.id}
                if all(notice.get(field) == names[field] for field in named_by):
                    call.stopped.set()

    def _check_callback(self, url: str) -> None:
        """Results go to the runtime this server belongs to, if it is told which: a URL in a request is anybody's."""
        host = _host_of(url)
        if self._callback_host and host != self._callback_host:
            raise Refused(403, "callback_url is on a host that results are not sent to")


def _host_of(url: str) -> str:
    """Return host and port, as they stand in a URL that a result can be sent to."""
    with contextlib.suppress(ValueError):  # a port that is no number, a bracket that is left open
        target = urlsplit(url)
        if target.scheme in ("http", "https") and target.hostname and target.port != 0 and url.isascii():
            return target.netloc
    raise Refused(400, "callback_url is not a URL")


def _invocation(fields: Json) -> Json:
    if not isinstance(fields.get("arguments"), dict):
        raise Refused(400, "arguments is not an object")
    for name in ("operation", "id", "group_id", "callback_url"):
        if not isinstance(fields.get(name), str):
            raise Refused(400, f"{name} is not a string")
    return fields


def _continued(state: str, request: Request, given: Json) -> Call:
    """Return the call that a `return_url` holds, to go on with what was brought there."""
    try:
        *parts, run = json.loads(base64.urlsafe_b64decode(f"{state}=="))
        body = _invocation(dict(zip(CARRIED, parts, strict=True)))
    except (ValueError, TypeError, RecursionError) as error:
        raise Refused(404, "there is nothing here") from error
    return Call(body, request.base_url, f"{run}.{request.key}", given)
