"""One call of a tool, from the side of the tool: what was asked, and every way to answer it."""

import base64
import contextlib
import hashlib
import http.client
import itertools
import json
import logging
import re
import threading
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

logger = logging.getLogger(__name__)

PAUSES_S = (0.5, 1, 2, 4, 8, 16)  # between the tries of a callback
LONG_PAUSES_S = (*PAUSES_S, 30, 60, 120, *(300,) * 288)  # where a thread has nothing else to do: a day
CALLBACK_TIMEOUT_S = 5
PASSING_STATUSES = frozenset({408, 425, 429})  # a Function URL says 429 when too many call it at once
MAX_URL_CHARS = 2_048  # what the runtime takes
CARRIED = ("operation", "id", "group_id", "callback_url", "arguments")  # what a call needs to go on

_PLAIN_KEY = re.compile(r"[!-~]{1,200}")
_IMAGES = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
}

Json = dict[str, Any]
Result = str | bytes | Sequence[str | bytes] | None


class NotTaken(OSError):
    """The runtime could not be reached, or failed each time. It is sent again when the call is repeated."""


class NotAccepted(ValueError):
    """The runtime refused something for what it is, and would refuse it again."""


class Call:
    """One call. A tool with a parameter named `call` is given it.

    `body` is the invocation as it came. `run` is the same whenever the same work is done again, so that what is sent
    twice is recognised. `given` is what somebody brought to `return_url`. All that sends may raise `NotTaken`, and
    `NotAccepted` where it is no result; a tool may let both pass.
    """

    def __init__(self, body: Json, base_url: str, run: str, given: Json | None = None) -> None:
        self.body, self.base_url, self.run, self.given = body, base_url, run, given
        self.id: str = body["id"]
        self.group_id: str = body["group_id"]
        self.subscribed = False
        self.stopped = threading.Event()
        self.pauses_s: Sequence[float] = PAUSES_S
        self._numbers = itertools.count(1)
        self._unsent: tuple[Json, str] | None = None

    def answer(self, result: Result, **more: str) -> None:
        """Send the result; the runtime keeps the first. `display_as` is what a person is shown of it instead."""
        self.send_result({**content_of(result), **more})

    def subscribe(self, text: str) -> None:
        """Answer that events will follow. What the tool returns or raises from here on is the last of them."""
        self.subscribed = True
        self._send("tool_result", id=self.id, text=text, subscription=True)

    def fire(self, text: str, event_id: str = "", *, associative: bool = False, final: bool = False) -> None:
        """Send an event of a subscription; under one `event_id` it is one, however often it is sent.

        An associative event is told to the agent itself, any other to a thread of its own. The final one ends it all.
        """
        key = event_id or self._next_key()
        kind: Json = {"associative": associative, "final": final}
        self._send("subscription_event", key, tool_call_id=self.id, text=text, event_id=key, **kind)

    def ask(self, prompt: str, choices: Sequence[str], default: int = 0) -> None:
        """Let the user choose. The tool's `on_return` function is given the index, as `given["selected"]`."""
        choice: Json = {"prompt": prompt, "choices": list(choices), "default": default}
        self._send("user_choice", id=self.id, response_url=self.return_url, **choice)

    def login(self, auth_url: str) -> None:
        """Show the user where to sign in. A page that leads back to `return_url` continues the call in `on_return`."""
        self._send("oauth", id=self.id, auth_url=auth_url)

    def show(self, view_type: str, content: object) -> None:
        """Show the user, never the agent, how things stand. The newest of a type counts."""
        with contextlib.suppress(NotAccepted):  # no reason to fail the tool
            self._send("view_update", view_type=view_type, content=content)

    def wait(self, seconds: float) -> bool:
        """Wait, and return whether the call is still wanted: neither was it cancelled nor its thread closed."""
        return not self.stopped.wait(seconds)

    @property
    def return_url(self) -> str:
        """Where this call goes on. The URL holds the call and its arguments, so any process can take it up.

        Raises:
            ValueError: the arguments are too long for that.
        """
        parts = [*(self.body[name] for name in CARRIED), self.run]
        state = json.dumps(parts, separators=(",", ":"), ensure_ascii=False).encode(errors="replace")
        url = f"{self.base_url}/return/{base64.urlsafe_b64encode(state).decode().rstrip('=')}"
        if len(url) > MAX_URL_CHARS:
            raise ValueError("the arguments are too long to travel in a URL: call again with shorter ones")
        return url

    def as_json(self) -> Json:
        """Return what `Call(**…)` makes this call of again, in whichever process.

        What it sends there is a repeat of nothing that was sent here; whoever goes on from the same JSON a second time
        does the same work again, and sends the same.
        """
        return {"body": self.body, "base_url": self.base_url, "run": self._next_key(), "given": self.given}

    def send_result(self, content: Json) -> None:
        """Send a result of these fields. In place of one that is refused for what it is, the agent gets the reason."""
        try:
            self._send("tool_result", id=self.id, **content)
        except NotAccepted as refusal:
            with contextlib.suppress(NotAccepted):
                self._send("tool_result", id=self.id, text=f"Error: {type(refusal).__name__}: {refusal}")

    def send_again(self) -> None:
        """Send what could not be sent; do nothing if all was."""
        unsent, self._unsent = self._unsent, None
        if unsent is not None:
            self._deliver(*unsent)

    def _send(self, kind: str, key: str = "", **fields: object) -> None:
        body = {"type": kind, "group_id": self.group_id, **fields}
        status, reason = self._deliver(body, key or self._next_key())
        if status in (400, 413):
            raise NotAccepted(f"the runtime refused this {kind}: {reason}")

    def _next_key(self) -> str:
        return f"{self.run}-{next(self._numbers)}"

    def _deliver(self, body: Json, key: str) -> tuple[int, str]:
        """Return status and reason. A 4xx is the end of it, unless it passes: a repeat would be refused, too."""
        for pause_s in (*self.pauses_s, 0):
            with contextlib.suppress(OSError, http.client.HTTPException):
                status, reason = _post(self.body["callback_url"], body, key)
                if status < 500 and status not in PASSING_STATUSES:
                    return status, reason
            time.sleep(pause_s)
        self._unsent = (body, key)
        raise NotTaken("the runtime did not take it")


def content_of(result: Result) -> Json:
    """Return the fields that carry a result. There is always something to read.

    Raises:
        TypeError: it is nothing that a tool may return.
    """
    if not result or (isinstance(result, str) and not result.strip()):
        return {"text": "(no result)"}
    if isinstance(result, str):
        return {"text": result}
    return {"content": [_item(part) for part in (result if isinstance(result, list | tuple) else [result])]}


def _item(part: object) -> Json:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    for media_type, start in _IMAGES.items():
        if isinstance(part, bytes) and start.match(part):
            return {"type": "image", "data": base64.b64encode(part).decode(), "mediaType": media_type}
    raise TypeError("a tool returns text, the bytes of a PNG, JPEG, GIF or WebP image, or a list of them")


def _header_of(key: str) -> str:
    """Return the key as a header carries it: as it is, or the hash of what no header would carry unchanged."""
    return key if _PLAIN_KEY.fullmatch(key) else hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


def _post(url: str, body: Json, key: str) -> tuple[int, str]:
    target = urlsplit(url)
    kind = http.client.HTTPSConnection if target.scheme == "https" else http.client.HTTPConnection
    headers = {"Content-Type": "application/json", "Idempotency-Key": _header_of(key)}
    with contextlib.closing(kind(target.hostname or "", target.port, timeout=CALLBACK_TIMEOUT_S)) as connection:
        connection.request("POST", target._replace(scheme="", netloc="").geturl(), json.dumps(body), headers)
        answer = connection.getresponse()
        reason = answer.read(300).decode(errors="replace")
    if answer.status < 300:
        logger.info("callback taken: %s", body["type"])
    else:
        logger.warning("callback not taken: %s, status %d, %s", body["type"], answer.status, reason)
    return answer.status, reason
