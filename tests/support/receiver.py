"""A receiver over small working stores, as tool servers meet it."""

import json
from collections.abc import Sequence
from typing import Any

from runtime.adapters.memory.clock import ManualClock
from runtime.adapters.memory.keyring import FixedKeyring
from runtime.adapters.memory.payloads import MemoryPayloads
from runtime.callbacks import make_token
from runtime.errors import Unavailable
from runtime.model.choices import View
from runtime.model.messages import Message
from runtime.model.outputs import Output
from runtime.ports import Key
from runtime.receive import Answer, ReceiverLimits, ReceiverPorts, Request, receive

KEY = Key("k1", b"a secret of the deployment", 0)
KEYS = FixedKeyring(KEY)
LIMITS = ReceiverLimits(body_bytes=100_000, inline_bytes=2_000)


class AcceptingQueues:
    """Queues that keep what they accept, until they are told not to accept."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.outputs: list[Output] = []
        self.is_down = False

    def send_inputs(self, messages: Sequence[Message]) -> None:
        self._require_up()
        self.messages += messages

    def send_outputs(self, outputs: Sequence[Output]) -> None:
        self._require_up()
        self.outputs += outputs

    def _require_up(self) -> None:
        if self.is_down:
            raise Unavailable("the queue did not answer")


class NewestViews:
    """Views that keep the newest of each type, until they are told not to answer."""

    def __init__(self) -> None:
        self.views: dict[tuple[str, str], View] = {}
        self.is_down = False

    def put(self, view: View) -> bool:
        if self.is_down:
            raise Unavailable("the table did not answer")
        key = (view.thread_id, view.view_type)
        kept = self.views.get(key)
        if kept is not None and kept.received_ms > view.received_ms:
            return False
        self.views[key] = view
        return True

    def of_thread(self, thread_id: str) -> tuple[View, ...]:
        return tuple(view for (owner, _), view in self.views.items() if owner == thread_id)


class Receiver:
    """A receiver, and a tool server that has been handed one call of thread t-1."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.queue = AcceptingQueues()
        self.payloads = MemoryPayloads()
        self.views = NewestViews()
        self.ports = ReceiverPorts(KEYS, self.queue, self.payloads, self.views, self.clock)

    def token(self, life_ms: int = 1_000, key: Key = KEY, **scope: str) -> str:
        given = {"root_id": "root", "thread_id": "t-1", "call_id": "call_1", "toolset": "builds", **scope}
        return make_token(key, **given, expires_at_ms=self.clock.now_ms() + life_ms)

    def post(
        self, path: str, body: bytes | dict[str, Any] | None = None, method: str = "POST", **headers: str
    ) -> Answer:
        content = body if isinstance(body, bytes) else json.dumps(body or result()).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return receive(Request(method, path, content, named), self.ports, LIMITS)

    def call_back(self, body: bytes | dict[str, Any] | None = None, **headers: str) -> Answer:
        return self.post(f"/cb/{self.token()}", body, **headers)


def result(**fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "group_id": "t-1", "id": "call_1", "text": "done", **fields}


def event(text: str = "up", **fields: Any) -> dict[str, Any]:
    return {"type": "subscription_event", "group_id": "t-1", "tool_call_id": "call_1", "text": text, **fields}


def oauth(**fields: Any) -> dict[str, Any]:
    return {"type": "oauth", "group_id": "t-1", "id": "call_1", "auth_url": "https://login.example/", **fields}


def choice(**fields: Any) -> dict[str, Any]:
    asked = {"prompt": "Which?", "choices": ["this", "that"], "response_url": "https://tools.example/chosen"}
    return {"type": "user_choice", "group_id": "t-1", "id": "call_1", **asked, **fields}


def view(content: object = "a board", **fields: Any) -> dict[str, Any]:
    return {"type": "view_update", "group_id": "t-1", "view_type": "board", "content": content, **fields}
