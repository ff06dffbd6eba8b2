"""The example tool server: how any HTTP service lends its tools to agents. Copy it and change the tools.

Behind a Lambda Function URL it invokes itself for long work. By hand it works in threads:
`python -m handlers.example_toolset --port 0` prints `READY <port>` when it listens.
"""

import argparse
import base64
import binascii
import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from handlers.example_tools import Build, Call, ExampleTools, Json, finish_build

ALLOWED_CALLBACK_HOST = "INFINITY_EXAMPLE_ALLOWED_CALLBACK_HOST"


def handler(event: Json, context: object) -> Json:  # noqa: ARG001 - Lambda passes it
    """Answer a request of the Function URL, or work on a build that an earlier invocation accepted."""
    if "build" in event:
        finish_build(_build_in(event["build"]))
        return {}
    http = event["requestContext"]["http"]
    status, body = _in_lambda().answer(http["method"], event["rawPath"], event["headers"], _body_of(event))
    return {"statusCode": status, "headers": {"Content-Type": "application/json"}, "body": json.dumps(body)}


@cache
def _in_lambda() -> ExampleTools:
    import boto3  # here: as a process of its own it needs nothing but Python

    client = boto3.client("lambda")
    name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]

    def start(build: Build) -> None:
        payload = json.dumps({"build": _fields_of(build)})
        client.invoke(FunctionName=name, InvocationType="Event", Payload=payload)

    return ExampleTools(start, os.environ.get(ALLOWED_CALLBACK_HOST))


def _fields_of(build: Build) -> Json:
    call = build.call
    return {
        "seconds": build.seconds,
        "report": build.report,
        "call_id": call.call_id,
        "group_id": call.group_id,
        "callback_url": call.callback_url,
    }


def _build_in(fields: Json) -> Build:
    call = Call("run_build", {}, fields["call_id"], fields["group_id"], fields["callback_url"])
    return Build(call, fields["seconds"], fields["report"])


def _body_of(event: Json) -> bytes:
    body: bytes = (event.get("body") or "").encode(errors="surrogatepass")
    if event.get("isBase64Encoded"):
        with contextlib.suppress(binascii.Error):
            return base64.b64decode(body, validate=True)
    return body


def serve(port: int, announce: Callable[[int], None]) -> None:
    """Serve on 127.0.0.1 until interrupted, a thread for each build. `announce` is told the port."""

    def start(build: Build) -> None:
        threading.Thread(target=finish_build, args=(build,), daemon=True).start()

    tools = ExampleTools(start, os.environ.get(ALLOWED_CALLBACK_HOST))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

        def _answer(self, body: bytes) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, answer = tools.answer(self.command, self.path, headers, body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        announce(server.server_address[1])
        server.serve_forever()


def _announce(port: int) -> None:
    sys.stdout.write(f"READY {port}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8080, help="0 picks a free one")
    with contextlib.suppress(KeyboardInterrupt):
        serve(parser.parse_args().port, _announce)
