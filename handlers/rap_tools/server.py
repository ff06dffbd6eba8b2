"""The tools of one server, and the two ways to have them called: in a process of its own, or as a Lambda function."""

import base64
import binascii
import contextlib
import json
import logging
import os
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar

from .calls import LONG_PAUSES_S, Call, Json, NotAccepted, NotTaken, Result, content_of
from .intake import MAX_BODY_BYTES, Intake, Request
from .offer import Tool, entry_of

logger = logging.getLogger(__name__)

Function = TypeVar("Function", bound=Callable[..., Result])
Handler = Callable[[Json, object], Json]


class ToolServer:
    """Add functions with `tool`; then `run` it, or give Lambda the handler that `for_lambda` returns."""

    def __init__(self, name: str, description: str = "") -> None:
        self.name, self.description = name, description
        self._tools: dict[str, Tool] = {}
        self._returns: dict[str, Callable[..., Result]] = {}

    def tool(
        self, *, schema: Json | None = None, annotations: Json | None = None, slow: bool = False
    ) -> Callable[[Function], Function]:
        """Add a function. It gets the arguments by name, as the runtime checked them against the schema.

        Raises:
            TypeError: it has no docstring, or no schema can be made of its annotations.
        """

        def add(function: Function) -> Function:
            self._tools[function.__name__] = Tool(function, entry_of(function, schema, annotations), slow)
            return function

        return add

    def on_return(self, tool_name: str) -> Callable[[Function], Function]:
        """Add what a tool goes on with, as `(call, given)`, when somebody comes to the call's `return_url`.

        `given` is the JSON of a POST (for a choice `id` and `selected`), or the query of a GET.
        """

        def add(function: Function) -> Function:
            self._returns[tool_name] = function
            return function

        return add

    def manifest(self) -> Json:
        """Return what `/.well-known/rap-toolset` says. The endpoint is relative: a server behind others has no URL."""
        tools = [tool.entry for tool in self._tools.values()]
        return {"name": self.name, "description": self.description, "endpoint": "call", "tools": tools}

    def work_on(self, call: Call) -> None:
        """Run the tool and send what comes of it, unless nobody wants it any more.

        Raises:
            NotTaken: it could not be sent.
        """
        content = self._outcome(call)
        if content is None or call.stopped.is_set():
            return
        if call.subscribed:
            with contextlib.suppress(NotAccepted):
                call.fire(content.get("text", "(not a text)"), associative=True, final=True)
        else:
            call.send_result(content)

    def run(self, port: int | None = None, *, host: str = "127.0.0.1", callback_host: str | None = None) -> None:
        """Serve until interrupted, and say `READY <port>` when it listens. Without a port: that of `PORT`, else 8000.

        With a `callback_host` (`name:port`), results are sent nowhere else.
        """
        logging.basicConfig(level=logging.INFO)
        port = int(os.environ.get("PORT") or 8000) if port is None else port
        with contextlib.suppress(KeyboardInterrupt), self.listen(port, host, callback_host) as server:
            sys.stdout.write(f"READY {server.server_address[1]}\n")
            sys.stdout.flush()
            server.serve_forever()

    def listen(self, port: int, host: str = "127.0.0.1", callback_host: str | None = None) -> ThreadingHTTPServer:
        """Return a server that listens already, for `serve_forever`. Port 0 is a free one."""
        return ThreadingHTTPServer((host, port), _http(Intake(self.manifest, self._start_thread, callback_host)))

    def for_lambda(self, later: Callable[[Json], None] | None = None, *, callback_host: str | None = None) -> Handler:
        """Return a handler for a Function URL; call it below the last tool.

        `later` has to invoke that same handler, asynchronously, with the event it is given. It is for the slow tools.
        Lambda repeats such an invocation that failed, so a slow tool may run again there, with the same `call.run`.

        The handler raises:
            ValueError: there are slow tools, and nothing that would outlive their requests.
        """
        slow = {name for name, tool in self._tools.items() if tool.slow}

        def start(call: Call) -> None:
            if later is not None and call.body["operation"] in slow and call.given is None:
                later({"rap_call": call.as_json()})
            else:
                self.work_on(call)

        intake = Intake(self.manifest, start, callback_host)

        def handler(event: Json, context: object) -> Json:  # noqa: ARG001 - Lambda passes it
            if slow and later is None:  # told here: by hand, where each call is a thread, nothing is missing
                raise ValueError(f"give for_lambda a `later`, which the slow tools need: {', '.join(sorted(slow))}")
            if "rap_call" in event:
                self.work_on(Call(**event["rap_call"]))
                return {}
            status, body = intake.answer(_request_in(event))
            return {"statusCode": status, "headers": {"Content-Type": "application/json"}, "body": json.dumps(body)}

        return handler

    def _start_thread(self, call: Call) -> None:
        call.pauses_s = LONG_PAUSES_S  # its call was accepted long ago, and is not repeated

        def work() -> None:
            try:
                self.work_on(call)
            except NotTaken:
                logger.exception("a result is kept until its call is repeated", extra={"call_id": call.id})

        threading.Thread(target=work, daemon=True).start()

    def _outcome(self, call: Call) -> Json | None:
        """Return the fields of the result; nothing where the tool has seen to it itself. An error is a result, too."""
        try:
            result = self._run_tool(call)
            return None if result is None else content_of(result)
        except NotTaken:
            raise
        except (Exception, SystemExit) as error:  # what a tool calls may take itself for a program of its own
            logger.exception("a tool failed", extra={"call_id": call.id})
            return content_of(f"Error: {type(error).__name__}: {error}")

    def _run_tool(self, call: Call) -> Result:
        name = call.body["operation"]
        if call.given is not None and name in self._returns:
            return self._returns[name](call, call.given)
        if name not in self._tools or call.given is not None:
            return f"Error: there is no tool named {name[:64]!r} here."
        tool = self._tools[name]
        if tool.takes_call:
            return tool.function(call=call, **call.body["arguments"])
        return tool.function(**call.body["arguments"]) or ""


def _request_in(event: Json) -> Request:
    query = event.get("rawQueryString")
    target = f"{event['rawPath']}?{query}" if query else event["rawPath"]
    return Request(event["requestContext"]["http"]["method"], target, event["headers"], _body_in(event))


def _body_in(event: Json) -> bytes:
    """Return the body's bytes. Those of a broken encoding stay as they are: no JSON, and refused as that."""
    body: bytes = (event.get("body") or "").encode(errors="surrogatepass")
    if event.get("isBase64Encoded"):
        with contextlib.suppress(binascii.Error):
            return base64.b64decode(body, validate=True)
    return body


def _http(intake: Intake) -> type[BaseHTTPRequestHandler]:
    class OneRequest(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def log_message(self, *_: object) -> None:
            """Say nothing: whoever reads the path of a `return_url` can answer in its place."""

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            self.close_connection = self.close_connection or length > MAX_BODY_BYTES
            body = self.rfile.read(min(length, MAX_BODY_BYTES + 1))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, answer = intake.answer(Request(self.command, self.path, headers, body))
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return OneRequest
