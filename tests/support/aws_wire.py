"""What a boto3 client really sends, and answers of our own in place of the service's.

It sits at botocore's `before-send`, after retries have been decided and requests been signed: what it sees is what
goes over the wire, and what it answers is parsed as if it had come from there.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders


class HasEvents(Protocol):
    """Any boto3 client."""

    @property
    def meta(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class Answer:
    """A response in place of the service's."""

    status: int
    body: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


def error(status: int, code: str) -> Answer:
    """Return the answer of a service with a JSON protocol that refuses or fails."""
    return Answer(
        status, {"__type": f"com.amazonaws#{code}", "message": "somebody's words"}, {"x-amzn-errortype": code}
    )


class Wire:
    """Counts the requests of one client by operation; `answers` are given first, one for each request."""

    def __init__(self, client: HasEvents) -> None:
        self.operations: list[str] = []
        self.paths: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self._answers: list[Answer | Exception | None] = []
        client.meta.events.register_first("before-send", self._before_send)

    def answer_next(self, *answers: Answer | Exception | None) -> None:
        """Give these answers to the next requests, raise instead, or (None) let one through to the service."""
        self._answers += answers

    def _before_send(self, request: AWSPreparedRequest, event_name: str, **_: object) -> AWSResponse | None:
        self.operations.append(event_name.rpartition(".")[2])
        self.paths.append(urlsplit(request.url).path)
        self.bodies.append(_json(request.body))
        answer = self._answers.pop(0) if self._answers else None
        if answer is None:
            return None
        if isinstance(answer, Exception):
            raise answer
        headers = HTTPHeaders()
        for name, value in answer.headers.items():
            headers[name] = value
        return AWSResponse(request.url, answer.status, headers, _Raw(json.dumps(answer.body).encode()))


class _Raw:
    """As much of urllib3's response as botocore reads."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self, **_: object) -> list[bytes]:
        return [self._content]


def _json(body: Any) -> dict[str, Any]:
    try:
        return dict(json.loads(body))
    except (TypeError, ValueError):
        return {}
