"""Tools that are functions of this process, and the tool server they are behind.

They call back as any server does, through the receiver and its checks; only the network is left out.
"""

import base64
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.callbacks import CALLBACK_PATH
from runtime.errors import HandOverFailed
from runtime.model.entries import JsonObject
from runtime.model.toolsets import Invocation, ToolServer
from runtime.receive import ReceiverLimits, ReceiverPorts, Request, receive

SERVER = ToolServer("local", "http://local.invalid")
_ENDPOINT = f"{SERVER.url}/invoke"
_CHOSEN = f"{SERVER.url}/chosen/"

Post = Callable[[JsonObject], None]
AwaitChoice = Callable[[Callable[[int], None]], str]


class LocalCall:
    """One call as a tool gets it. Its methods may be called from any thread, at any time later.

    Each of them raises a ValueError that says what to change when it is given what no tool server may send, and a
    RetryableError when it may be tried again.
    """

    def __init__(self, invoked: JsonObject, post: Post, await_choice: AwaitChoice) -> None:
        self.call_id: str = invoked["id"]
        self.arguments: JsonObject = invoked["arguments"]
        self._thread_id: str = invoked["group_id"]
        self._post = post
        self._await_choice = await_choice

    def answer(self, text: str = "", *, images: Sequence[bytes] = ()) -> None:
        """Give the call's one result, pictures behind the text; the first one counts.

        A picture is a PNG, JPEG, GIF or WebP file; in place of one that no model takes stands a text that says why.
        """
        content = [{"type": "text", "text": _text(text)}, *map(_image, images)]
        self._call_back("tool_result", id=self.call_id, content=content)

    def subscribe(self, text: str = "") -> None:
        """Give the call's one result, and go on: `fire` tells what happens from now on."""
        self._call_back("tool_result", id=self.call_id, text=_text(text), subscription=True)

    def fire(self, text: str, *, associative: bool = False, final: bool = False) -> None:
        """Tell that something happened: to the agent itself if `associative`, else to a thread made for it."""
        happened: dict[str, Any] = {"text": _text(text), "associative": associative, "final": final}
        self._call_back("subscription_event", tool_call_id=self.call_id, **happened)

    def ask(self, prompt: str, choices: Sequence[str], chosen: Callable[[int], None], *, default: int = 0) -> None:
        """Let the user choose; `chosen` is called once, with an index into `choices`. `default` is one, too."""
        url = self._await_choice(chosen)
        asked: dict[str, Any] = {"prompt": prompt, "choices": list(choices), "default": default, "response_url": url}
        self._call_back("user_choice", id=self.call_id, **asked)

    def login(self, url: str) -> None:
        """Send the user somewhere to log in; the tool hears by itself that they have."""
        self._call_back("oauth", id=self.call_id, auth_url=url)

    def show(self, view_type: str, content: object) -> None:
        """Show some JSON beside the conversation. It replaces what was shown under this type, and no agent sees it."""
        self._call_back("view_update", view_type=view_type, content=content)

    def _call_back(self, kind: str, **fields: object) -> None:
        self._post({"type": kind, "group_id": self._thread_id, **fields})


@dataclass(frozen=True, slots=True)
class LocalTool:
    """A tool that is a function: `start` begins the work and returns at once, the work answers when it is done.

    `input_schema` is a JSON Schema object.
    """

    name: str
    description: str
    input_schema: JsonObject
    start: Callable[[LocalCall], None]


class LocalServer:
    """The tool server of a local system, as its slices see it."""

    def __init__(self, tools: Sequence[LocalTool], ports: ReceiverPorts, limits: ReceiverLimits) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._ports = ports
        self._limits = limits
        self._waiting: dict[str, Callable[[int], None]] = {}

    @property
    def manifest_json(self) -> str:
        tools = [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
            for tool in self._tools.values()
        ]
        return json.dumps({"name": SERVER.name, "endpoint": _ENDPOINT, "tools": tools})

    def accept(self, invocation: Invocation) -> None:
        """Start a call, or tell a tool what its user chose.

        Raises:
            HandOverFailed: the tool's function raised an error: its author's mistake, and the model's to know.
        """
        try:
            if invocation.endpoint.startswith(_CHOSEN):
                self._pass_on(invocation)
            else:
                self._start(invocation.body)
        except Exception as error:
            raise HandOverFailed(f"the tool could not be started ({type(error).__name__})") from error

    def _start(self, invoked: JsonObject) -> None:
        path = CALLBACK_PATH + invoked["callback_url"].rpartition(CALLBACK_PATH)[2]
        call = LocalCall(invoked, lambda fields: self._receive(path, fields), self._await_choice)
        self._tools[invoked["operation"]].start(call)

    def _await_choice(self, chosen: Callable[[int], None]) -> str:
        url = _CHOSEN + secrets.token_hex(16)
        self._waiting[url] = chosen
        return url

    def _pass_on(self, invocation: Invocation) -> None:
        chosen = self._waiting.pop(invocation.endpoint, None)  # what is not there any more is a repeat
        if chosen is not None:
            chosen(invocation.body["selected"])

    def _receive(self, path: str, fields: JsonObject) -> None:
        answer = receive(Request("POST", path, json.dumps(fields).encode()), self._ports, self._limits)
        if answer.status != 200:
            raise ValueError(json.loads(answer.body)["error"])


def _image(content: bytes) -> JsonObject:
    # What kind of image it is, its bytes say: nothing that is claimed of it is looked at.
    return {"type": "image", "data": base64.b64encode(content).decode(), "mediaType": "image/*"}


def _text(given: str) -> str:
    if not isinstance(given, str):
        raise TypeError(f"a tool answers with text, not with {type(given).__name__}")
    return given
