"""The tool server of a run: takes calls, and speaks through the real receiver when it is told to."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.errors import HandOverFailed
from runtime.model.toolsets import Invocation, Notice, ToolServer
from runtime.receive import ReceiverLimits, ReceiverPorts, Request, receive
from scripts.simulation.profile import RECEIVER_URL, SERVER
from scripts.simulation.violation import require

_LIMITS = ReceiverLimits(body_bytes=10_000, inline_bytes=100)
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

_EVENT = {"type": "subscription_event"}
EVENTS: Mapping[str, dict[str, Any]] = {
    "fires": _EVENT,
    "fires into the thread": _EVENT | {"associative": True},
    "fires for the last time": _EVENT | {"final": True},
    "fires into the thread for the last time": _EVENT | {"associative": True, "final": True},
}
WISHES: Mapping[str, dict[str, Any]] = {
    "asks for a choice": {"type": "user_choice", "choices": ["yes", "no"], "response_url": f"{SERVER.url}/chosen"},
    "asks for a login": {"type": "oauth", "auth_url": f"{SERVER.url}/login"},
}
WORDS = {**EVENTS, **WISHES}


@dataclass(slots=True)
class Taken:
    """A call the server has. `bodies` are all that it was sent under this key, `answers` what it said.

    `words` are what else it said, each by its key: events, and what it asked its user.
    """

    key: str
    call_id: str
    thread_id: str
    bodies: list[dict[str, Any]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    goes_on: bool = False
    words: dict[str, dict[str, Any]] = field(default_factory=dict)


class Tools:
    def __init__(self) -> None:
        self.taken: dict[str, Taken] = {}
        self.chosen: dict[str, list[dict[str, Any]]] = {}  # by key: what it was told its user chose
        self.notices: list[Notice] = []

    def manifest(self, server: ToolServer) -> str:  # noqa: ARG002 - there is one
        return json.dumps(_MANIFEST)

    def invoke(self, invocation: Invocation, timeout_s: float) -> None:  # noqa: ARG002 - it takes no time
        body = dict(invocation.body)
        if "operation" not in body:
            self.chosen.setdefault(invocation.idempotency_key, []).append(body)
            return
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
        given = {"type": "tool_result", "id": call_id, "text": text, "subscription": taken.goes_on}
        return _posted(taken, given, {}, ports)

    def speak(self, call_id: str, how: str, ports: ReceiverPorts) -> int:
        """POST what is no result: a word named so, or one that was said before; return the status."""
        taken = self.taken[call_id]
        if how == "says that again":
            key = list(taken.words)[-1]
        else:
            key = f"word {len(taken.words)}"
            taken.words[key] = WORDS[how] | _about(how, call_id, f"{key} of {call_id}")
        return _posted(taken, taken.words[key], {"idempotency-key": key}, ports)


def _about(how: str, call_id: str, text: str) -> dict[str, Any]:
    if how in EVENTS:
        return {"tool_call_id": call_id, "text": text}
    return {"id": call_id, "prompt": text}


def _posted(taken: Taken, given: dict[str, Any], headers: dict[str, str], ports: ReceiverPorts) -> int:
    path = taken.bodies[-1]["callback_url"].removeprefix(RECEIVER_URL)
    body = json.dumps({"group_id": taken.thread_id, **given}).encode()
    return receive(Request("POST", path, body, headers), ports, _LIMITS).status


def _call_of(body: dict[str, Any]) -> dict[str, Any]:
    """Return what a repeat must say again. Who asks is that of the time of sending."""
    return {name: value for name, value in body.items() if name != "user_id"}


def long(text: str) -> str:
    """Return the text so long that it travels by reference."""
    return text.ljust(_LONG, ".")


def refuse() -> HandOverFailed:
    return HandOverFailed("the tool server refused the call")
