"""An HTTP endpoint in front of another: requests and answers are passed on whole, and as they are."""

import http.client
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from scripts.offline_stack.interposers.exchanges import describe
from scripts.offline_stack.interposers.watch import Watch
from scripts.offline_stack.supervisor import ProcessIdentity

HOST = "127.0.0.1"
SERVICE_TIMEOUT_S = 330
# Of one connection only (RFC 9110, 7.6.1); and the length is our own, since an answer goes out in one piece.
HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})


class HttpEndpoint(ThreadingHTTPServer):
    """Listens on a free port of 127.0.0.1 for `service`, a URL. Serve it in a thread, and `close` it."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, service: str, watch: Watch) -> None:
        super().__init__((HOST, 0), _Handler)
        place = urlsplit(service)
        self.service = (place.hostname or HOST, place.port or 80)
        self.watch = watch

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}"

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: HttpEndpoint
    client: ProcessIdentity | None

    def handle(self) -> None:
        self.client = self.server.watch.client_of(self.client_address[1], self.server.server_port)
        with suppress(ConnectionError):  # the client may be dead, or done
            super().handle()

    def _pass(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:
            raise ConnectionError("the client died in the middle of its request")
        names = {name.lower(): value for name, value in self.headers.items()}
        exchange = describe(urlsplit(self.path).path, names, body)
        see, client = self.server.watch.see, self.client
        self.close_connection = True
        if see(exchange, "arrived", client) == "end here":
            return
        service = http.client.HTTPConnection(*self.server.service, timeout=SERVICE_TIMEOUT_S)
        try:
            self._send_on(service, body)
            ended = see(exchange, "passed on", client) == "end here"
            answer = service.getresponse()
            content = answer.read()
        finally:
            service.close()
        if ended or see(exchange, "answered", client) == "end here":
            return
        self._send_back(answer, content)
        self.close_connection = False

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _pass  # noqa: N815 - the parent class looks for these names

    def _send_on(self, service: http.client.HTTPConnection, body: bytes) -> None:
        # The host stays the one that the client asked for and signed.
        service.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in HOP_BY_HOP:
                service.putheader(name, value)
        service.putheader("Content-Length", str(len(body)))
        service.endheaders(body)

    def _send_back(self, answer: http.client.HTTPResponse, content: bytes) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent class names it so
        """Say nothing on standard error: the wire log says it all."""
