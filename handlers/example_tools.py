"""The example's tools, and the protocol around them, whichever way requests come in.

It shows the whole of the protocol: a manifest; calls that are acknowledged at once; results sent to the callback URL,
within the call (`get_time`) or long after it (`run_build`); and repeated calls, known by their Idempotency-Key, that
start nothing twice. It knows nothing of the runtime, and needs the standard library alone.
"""

import contextlib
import http.client
import json
import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

logger = logging.getLogger(__name__)

LONGEST_BUILD_S = 240  # the function's own time limit is 300 s
MAX_BODY_BYTES = 1024 * 1024
_KNOWN_KEYS = 1_000
_CALLBACK_TIMEOUT_S = 5
_CALLBACK_PAUSES_S = (0.5, 1.0, 2.0, 0.0)  # after each try; the last one has none

Json = dict[str, Any]

MANIFEST: Json = {
    "name": "Example tools",
    "description": "The time anywhere, and a build that takes a while.",
    "endpoint": "call",  # relative to the base URL, which this server does not know when it stands behind others
    "tools": [
        {
            "name": "get_time",
            "description": "The current local time, in a city or in an IANA time zone. Give one of the two.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "timezone": {"type": "string", "description": "An IANA name, such as Asia/Tokyo."},
                    "city": {"type": "string", "description": "A city that a time zone is named after, such as Tokyo."},
                },
            },
        },
        {
            "name": "run_build",
            "description": "Build the project and run its tests. Takes as long as asked for; the result comes later.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "seconds": {"type": "number", "minimum": 0, "maximum": LONGEST_BUILD_S, "description": "How long."}
                },
                "required": ["seconds"],
            },
        },
    ],
}


@dataclass(frozen=True, slots=True)
class Call:
    """One invocation: what to do, and where its result goes. `call_id` is the id that the result must carry."""

    operation: str
    arguments: Json
    call_id: str
    group_id: str
    callback_url: str
    idempotency_key: str = ""


@dataclass(frozen=True, slots=True)
class Build:
    """A build that was accepted. What it will say is fixed from the start, so that a repeated report says the same."""

    call: Call
    seconds: float
    report: str


class BadCall(ValueError):
    """The request is not a call this server takes. `status` says why in HTTP's terms."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class ExampleTools:
    """The tool server, apart from how requests come in. `start` begins a build and returns at once."""

    def __init__(self, start: Callable[[Build], None], allowed_callback_host: str | None) -> None:
        self._start = start
        self._allowed_callback_host = allowed_callback_host
        self._known_keys: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Json]:
        """Return status and body. Header names are in lower case. A failure of ours is a 500, so it is tried again."""
        try:
            return self._answer(method, path, headers, body)
        except BadCall as refusal:
            return refusal.status, {"error": str(refusal)}
        except Exception:
            logger.exception("request not answered")
            return 500, {"error": "internal error"}

    def _answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Json]:
        match method, path:
            case "GET", "/.well-known/rap-toolset":
                return 200, MANIFEST
            case "POST", "/call":
                call = _read_call(headers, body)
                self._check_callback(call)
                self._take(call)
                return 202, {"ok": True}
            case "POST", "/cancel_tool_call" | "/close_thread":
                return 202, {"ok": True}  # a build here cannot be stopped; its result will be dropped
            case _:
                return 404, {"error": "there is nothing here"}

    def _take(self, call: Call) -> None:
        """Run a call that is new here. A call that fails to start gives its key back, for the next try."""
        key = call.idempotency_key
        if not self._claim(key):
            return
        try:
            self._run(call)
        except Exception:
            self._settle(key, None)
            raise
        self._settle(key, "taken")

    def _claim(self, key: str) -> bool:
        """Return whether to run the call with this key. While another request is at it, nobody can promise anything."""
        with self._lock:
            state = self._known_keys.get(key)
            if state == "being taken":
                raise BadCall(503, "this call is being taken by another request")
            if state is None and key:
                self._known_keys[key] = "being taken"
            return state is None

    def _settle(self, key: str, state: str | None) -> None:
        with self._lock:
            self._known_keys.pop(key, None)
            if key and state:
                self._known_keys[key] = state
            if len(self._known_keys) > _KNOWN_KEYS:
                self._known_keys.popitem(last=False)

    def _run(self, call: Call) -> None:
        match call.operation:
            case "get_time":
                send_result(call, tell_time(call.arguments))
            case "run_build":
                seconds = call.arguments.get("seconds")
                if isinstance(seconds, int | float) and 0 <= seconds <= LONGEST_BUILD_S:
                    self._start(Build(call, float(seconds), _report_of_build()))
                else:
                    send_result(call, f"Error: seconds must be a number from 0 to {LONGEST_BUILD_S}.")
            case _:
                send_result(call, f"Error: there is no tool named {call.operation[:64]!r} here.")

    def _check_callback(self, call: Call) -> None:
        """Results go nowhere but to the runtime this server belongs to: a URL in a request is anybody's."""
        target = urlsplit(call.callback_url)
        if target.scheme not in ("http", "https") or not target.hostname:
            raise BadCall(400, "callback_url is not a URL")
        if self._allowed_callback_host and target.netloc != self._allowed_callback_host:
            raise BadCall(403, "callback_url is on a host that results are not sent to")


def tell_time(arguments: Json) -> str:
    """Return the time at a place, or what is wrong with the place."""
    place = arguments.get("timezone") or arguments.get("city")
    if not isinstance(place, str):
        return "Error: give a timezone or a city."
    wanted = place.strip().replace(" ", "_").casefold()
    names = [name for name in available_timezones() if wanted in (name.casefold(), name.casefold().rpartition("/")[2])]
    if not names:
        return f"Error: no time zone is named after {place[:64]!r}. Give an IANA time zone instead."
    name = min(names)
    return f"{name}: {datetime.now(ZoneInfo(name)).strftime('%A, %d %B %Y, %H:%M:%S (UTC%z)')}"


def _report_of_build() -> str:
    return f"build {secrets.token_hex(6)} finished: {100 + secrets.randbelow(900)} tests passed"


def finish_build(build: Build) -> None:
    """Work for as long as was asked, then report.

    Raises:
        OSError: as `send_result`.
    """
    time.sleep(build.seconds)
    send_result(build.call, build.report)


def send_result(call: Call, text: str) -> None:
    """POST the result of a call to its callback URL, again after a while if that fails.

    Raises:
        OSError: the runtime cannot be reached, or does not take it.
    """
    body = json.dumps({"type": "tool_result", "group_id": call.group_id, "id": call.call_id, "text": text}).encode()
    for pause_s in _CALLBACK_PAUSES_S:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if _post(call.callback_url, body) < 500:
                return  # accepted; or refused, and a repeat would be, too
        time.sleep(pause_s)
    raise OSError("the result was not taken")


def _post(url: str, body: bytes) -> int:
    target = urlsplit(url)
    kind = http.client.HTTPSConnection if target.scheme == "https" else http.client.HTTPConnection
    connection = kind(target.hostname or "", target.port, timeout=_CALLBACK_TIMEOUT_S)
    try:
        connection.request("POST", target.path, body, {"Content-Type": "application/json"})
        status = connection.getresponse().status
    finally:
        connection.close()
    logger.info("result sent", extra={"status": status, "size_bytes": len(body)})
    return status


def _read_call(headers: Mapping[str, str], body: bytes) -> Call:
    if len(body) > MAX_BODY_BYTES:
        raise BadCall(413, f"the body is larger than {MAX_BODY_BYTES} bytes")
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadCall(400, "the body is not JSON") from error
    if not isinstance(given, dict) or not isinstance(given.get("arguments"), dict):
        raise BadCall(400, "arguments is not an object")
    for name in ("operation", "id", "group_id", "callback_url"):
        if not isinstance(given.get(name), str):
            raise BadCall(400, f"{name} is not a string")
    return Call(
        operation=given["operation"],
        arguments=given["arguments"],
        call_id=given["id"],
        group_id=given["group_id"],
        callback_url=given["callback_url"],
        idempotency_key=headers.get("idempotency-key", ""),
    )
