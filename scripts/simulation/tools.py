"""The tool server of a run: takes calls, and answers through the real receiver when it is told to."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.errors import HandOverFailed
from runtime.model.toolsets import Invocation, Notice, ToolServer
from runtime.receive import Limits, ReceiverPorts, Request, receive
from scripts.simulation.profile import RECEIVER_URL, SERVER
from scripts.simulation.violation import require

_LIMITS = Limits(body_bytes=10_000, inline_bytes=100)
_LONG = 200
_MANIFEST = {
    "name": SERVER.name,
    "endpoint": f"{SERVER.url}/invoke",
    "tools": [
        {"name": "run_build", "description": "Build.", "inputSchema": {"type": "object"}},
        {"name": "explode", "description": "Kills whoever calls it.", "inputSchema": {"type": "object"}},
        {
            "name": "deploy",
            "description": "Deploy.",
            "inputSchema": {"type": "object"},
            "annotations": {"x-on-interrupt": "cancel"},
        },
    ],
}


@dataclass(slots=True)
class Taken:
    """A call the server has. `bodies` are all that it was sent under this key, `answers` what it said."""

    key: str
    call_id: str
    thread_id: str
    bodies: list[dict[str, Any]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    goes_on: bool = False


class Tools:
    def __init__(self) -> None:
        self.taken: dict[str, Taken] = {}
        self.notices: list[Notice] = []

    def manifest(self, server: ToolServer) -> str:  # noqa: ARG002 - there is one
        return json.dumps(_MANIFEST)

    def invoke(self, invocation: Invocation, timeout_s: float) -> None:  # noqa: ARG002 - it takes no time
        body = dict(invocation.body)
        taken = self.taken.setdefault(body["id"], Taken(invocation.idempotency_key, body["id"], body["group_id"]))
        require(
            taken.key == invocation.idempotency_key,
            "a call is handed over under one key",
            f"{taken.call_id} came as {invocation.idempotency_key} and {taken.key}",
        )
        is_same = all(_call_of(body) == _call_of(known) for known in taken.bodies)
        require(is_same, "a call is handed over with one body", f"{taken.call_id}: {body}")
        taken.bodies.append(body)

    def notify(self, notices: Sequence[Notice]) -> int:
        self.notices.extend(notices)
        return len(notices)

    def answer(self, call_id: str, text: str, ports: ReceiverPorts, *, goes_on: bool = False) -> int:
        """POST a result to the callback URL, as the server does; return the status. A subscription goes on."""
        taken = self.taken[call_id]
        taken.answers.append(text)
        taken.goes_on = taken.goes_on or (goes_on and len(taken.answers) == 1)  # said with the first answer, or never
        path = taken.bodies[-1]["callback_url"].removeprefix(RECEIVER_URL)
        given = {
            "type": "tool_result",
            "group_id": taken.thread_id,
            "id": call_id,
            "text": text,
            "subscription": taken.goes_on,
        }
        return receive(Request("POST", path, json.dumps(given).encode()), ports, _LIMITS).status


def _call_of(body: dict[str, Any]) -> dict[str, Any]:
    """Return what a repeat must say again. Who asks is that of the time of sending."""
    return {name: value for name, value in body.items() if name != "user_id"}


def long(text: str) -> str:
    """Return the text so long that it travels by reference."""
    return text.ljust(_LONG, ".")


def refuse() -> HandOverFailed:
    return HandOverFailed("the tool server refused the call")
