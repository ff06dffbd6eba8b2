"""A tool server by somebody who knows the protocol alone: `http.server`, nothing of this project, and careless.

usage: python foreign_server.py LOG

It cuts the query off callback URLs, sends back `call_id: null` and fields nobody knows, and answers notices with
rubbish. Prints its port; LOG gets a line of JSON for each request.
"""

import json
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LOG = Path(sys.argv[1])
LATER_S = 0.3
TOOLS = [
    {"name": "measure", "description": "Measures.", "inputSchema": {"type": "object"}},
    {"name": "listen", "description": "Listens.", "inputSchema": {"type": "object"}},
    {
        "name": "hold",
        "description": "Holds on.",
        "inputSchema": {"type": "object"},
        "annotations": {"x-on-interrupt": "cancel"},
    },
]


class Foreigner(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._reply(200, json.dumps({"name": "foreign", "endpoint": "go", "tools": TOOLS, "colour": "blue"}).encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with LOG.open("a") as log:
            log.write(json.dumps({"path": self.path, "key": self.headers.get("Idempotency-Key"), "body": body}) + "\n")
        if not self.path.endswith("/go"):
            self._reply(500, b"\xff\xfe<rubbish>")
            return
        self._reply(202, b"ok, whatever")
        threading.Thread(target=work, args=(body,), daemon=True).start()

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        del words  # nobody reads its standard error


def work(call: dict[str, str]) -> None:
    time.sleep(LATER_S)
    url = call["callback_url"].partition("?")[0]
    group, call_id = call["group_id"], call["id"]
    answer = {"type": "tool_result", "group_id": group, "id": call_id, "call_id": None, "mood": "fine"}
    event = {"type": "subscription_event", "group_id": group, "tool_call_id": call_id, "associative": True}
    if call["operation"] == "measure":
        post(url, {**answer, "text": "21 degrees"})
        post(url, {**answer, "text": "21 degrees"})
    elif call["operation"] == "listen":
        post(url, {**answer, "content": "listening", "subscription": True})
        post(url, {**event, "text": "a knock", "event_id": "1"})
        post(url, {**event, "text": "a knock", "event_id": "1"})
        post(url, {**event, "text": "silence", "event_id": "2", "final": True})


def post(url: str, body: dict[str, object]) -> None:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})  # noqa: S310 - the URL it was given
    with urllib.request.urlopen(request, timeout=10) as reply:  # noqa: S310 - as above
        reply.read()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Foreigner)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
