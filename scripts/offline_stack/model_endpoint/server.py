"""The HTTP side: ``POST /model/<model id>/converse-stream`` on 127.0.0.1, a thread for each connection."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock
from typing import assert_never
from urllib.parse import unquote
from uuid import uuid4

from scripts.offline_stack.model_endpoint import service_model
from scripts.offline_stack.model_endpoint.answers import Answer, answer_to, noted
from scripts.offline_stack.model_endpoint.document import JsonObject, JsonValue
from scripts.offline_stack.model_endpoint.eventstream import CONTENT_TYPE
from scripts.offline_stack.model_endpoint.log import RequestLog
from scripts.offline_stack.model_endpoint.request import ConverseRequest, ModelLimits, read_request
from scripts.offline_stack.model_endpoint.steps import Refuse, Step, Wait
from scripts.offline_stack.model_endpoint.stream import Emission, Frame, Lost, Pause, stream_of

_HOST = "127.0.0.1"
# The service sends a namespace behind the exception's name; clients have to cut it off.
_ERROR_NAMESPACE = ":http://internal.amazon.com/coral/com.amazon.bedrock/"
_PATH_START, _PATH_END = "/model/", "/converse-stream"


@dataclass(frozen=True, slots=True)
class Options:
    """How the endpoint behaves; ``delay_s`` passes before every answer."""

    limits: ModelLimits = field(default_factory=ModelLimits)
    delay_s: float = 0
    log: RequestLog = field(default_factory=lambda: RequestLog(None))


class ModelEndpoint(ThreadingHTTPServer):
    """The server. It listens from the start; port 0 picks a free port, which ``server_port`` then names."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, options: Options) -> None:
        service_model.load()
        super().__init__((_HOST, port), _Handler)
        self.options = options
        self.closing = Event()
        self._seen: Counter[str] = Counter()
        self._seen_lock = Lock()

    def times_seen(self, text: str) -> int:
        """Count one more request for the text and return how many came before it."""
        with self._seen_lock:
            self._seen[text] += 1
            return self._seen[text] - 1

    def close(self) -> None:
        """Stop a server that serves in another thread; silences under way end at once."""
        self.closing.set()
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ModelEndpoint

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client may go away between two requests
            super().handle()

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = _json_in(content)
        if not (self.path.startswith(_PATH_START) and self.path.endswith(_PATH_END)):
            self._send_error("UnknownOperationException", f"There is no operation at {self.path}.", 404)
        elif not self.headers.get("Authorization"):
            self._send_error("MissingAuthenticationTokenException", "Missing Authentication Token", 403)
        elif not isinstance(body, dict):
            self._send_error("SerializationException", "The request body is no JSON object.", 400)
        else:
            self._converse(unquote(self.path[len(_PATH_START) : -len(_PATH_END)]), body)

    def _converse(self, model_id: str, body: JsonObject) -> None:
        requested_at = time.time()
        request = read_request(model_id, body, self.server.options.limits)
        answer = answer_to(request, self.server.times_seen, requested_at)
        is_delivered = True
        try:
            self._pause(self.server.options.delay_s)
            self._play(answer.steps, request)
        except ConnectionError:  # the client hung up, as after its own timeout
            is_delivered, self.close_connection = False, True
        self.server.options.log.write(_line(requested_at, request, answer, is_delivered))

    def _play(self, steps: Sequence[Step], request: ConverseRequest) -> None:
        match steps:
            case [Wait(seconds), *rest]:
                self._pause(seconds)
                self._play(rest, request)
            case [Refuse(exception, message, status), *_]:
                self._send_error(exception, message, status)
            case _:
                self._send_stream(stream_of(steps, request))

    def _send_stream(self, emissions: Iterable[Emission]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("x-amzn-RequestId", str(uuid4()))
        self.end_headers()
        for emission in emissions:
            match emission:
                case Frame(content):
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(content), content))
                case Pause(seconds):
                    self._pause(seconds)
                case Lost():
                    self.close_connection = True
                    return
                case _:
                    assert_never(emission)
        self.wfile.write(b"0\r\n\r\n")

    def _send_error(self, exception: str, message: str, status: int) -> None:
        content = json.dumps({"message": message}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("x-amzn-ErrorType", exception + _ERROR_NAMESPACE)
        self.send_header("x-amzn-RequestId", str(uuid4()))
        self.end_headers()
        self.wfile.write(content)

    def _pause(self, seconds: float) -> None:
        self.server.closing.wait(seconds)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent class names it so
        """Say nothing on standard error: the request log says it all."""


def _json_in(content: bytes) -> JsonValue:
    try:
        body: JsonValue = json.loads(content)
    except ValueError:
        return None
    return body


def _line(requested_at: float, request: ConverseRequest, answer: Answer, is_delivered: bool) -> JsonObject:
    return {
        "requested_at": requested_at,
        "responded_at": time.time(),
        "model_id": request.model_id,
        "decision": {**noted(answer), "delivered": is_delivered},
        "body": request.body,
    }
