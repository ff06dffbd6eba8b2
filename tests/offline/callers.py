"""Requests to a deployed receiver as anybody can make them, and the tokens that a stranger might try."""

import base64
import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from runtime.callbacks import CALLBACK_PATH, make_token
from runtime.mac import authentication_code
from runtime.ports import Key


@dataclass(frozen=True, slots=True)
class Answer:
    """What the receiver said. `error` is empty where it said none."""

    status: int
    error: str
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that waits for its result, and where that goes."""

    thread_id: str
    call_id: str
    callback_url: str

    @property
    def token(self) -> str:
        return self.callback_url.rpartition("/")[2]

    @property
    def key_id(self) -> str:
        """The id of the key that signed its token."""
        payload = self.token.partition(".")[0]
        return str(json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))[0])

    def result(self, text: str = "Done.", **fields: Any) -> bytes:
        """The body that answers it, with further fields or others."""
        body = {"type": "tool_result", "group_id": self.thread_id, "id": self.call_id, "text": text, **fields}
        return json.dumps(body).encode()

    def another_token(self, key: Key, expires_at_ms: int, **parts: str) -> str:
        """A token for this call that this key signs, with other parts where they are given."""
        names = {"root_id": self.thread_id, "thread_id": self.thread_id, "call_id": self.call_id, "toolset": "waits"}
        return make_token(key, expires_at_ms=expires_at_ms, **(names | parts))


@dataclass(frozen=True, slots=True)
class Receiver:
    """The receiver as a caller sees it: a URL."""

    base_url: str

    def post(self, token: str, body: bytes) -> Answer:
        return self.ask("POST", f"{CALLBACK_PATH}{token}", body)

    def ask(self, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> Answer:
        """Make one request. The path goes on as it is."""
        base = urlsplit(self.base_url)
        connection = http.client.HTTPConnection(base.hostname or "", base.port, timeout=60)
        try:
            connection.request(method, f"{base.path}{path}", body, {"Content-Type": content_type})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        said = json.loads(content) if content and method != "HEAD" else {}
        return Answer(response.status, str(said.get("error", "")), dict(response.getheaders()))


def changed_at(token: str, place: int) -> str:
    """The token with another character at one place."""
    other = "A" if token[place] != "A" else "B"
    return f"{token[:place]}{other}{token[place:][1:]}"


def signed_parts(key: Key, parts: object) -> str:
    """A token with a true code over anything at all."""
    payload = base64.urlsafe_b64encode(json.dumps(parts).encode()).rstrip(b"=").decode()
    return f"{payload}.{authentication_code(key.secret, 'callback', payload.encode())}"
