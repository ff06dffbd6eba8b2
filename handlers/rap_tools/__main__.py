"""Takes a runtime's place when tools are tried by hand: prints what they send. `python -m rap_tools [port]`."""

import contextlib
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class _Printer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        sys.stdout.write(body.decode(errors="replace") + "\n")
        sys.stdout.flush()
        answer = b'{"ok":true}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing: what was sent says it all."""


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8001
    with contextlib.suppress(KeyboardInterrupt), HTTPServer(("127.0.0.1", port), _Printer) as server:
        sys.stdout.write(f"send results to http://127.0.0.1:{server.server_address[1]}/\n")
        sys.stdout.flush()
        server.serve_forever()
