"""The turns a model may take: what it says, and which tool it calls about what it has going on."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from runtime.model.entries import JsonObject, Usage
from runtime.model.turns import Completion, Part, SaidText, WantedCall
from scripts.simulation.profile import Ground

_USAGE = Usage(10, 5)
_MUCH = Usage(160_000, 5)  # more than a compaction waits for


@dataclass(frozen=True, slots=True)
class Scene:
    """Who asks the model, by its ids from the root down, and what it has going on."""

    stack: tuple[str, ...]
    children: tuple[str, ...] = ()
    detached: tuple[str, ...] = ()
    subscribed: tuple[str, ...] = ()


def _call(name: str, arguments_json: str = "{}") -> Part:
    return WantedCall("call_0", name, arguments_json)  # providers do repeat their ids


def _spawns(scene: Scene, *, inherits: bool = True) -> JsonObject:
    return {"instructions": "Look into it.", "child_of": list(scene.stack), "inherit_context": inherits}


def _cancels(name: str, running: Sequence[str]) -> Part:
    return _call(name, json.dumps({"tool_call_id": running[0] if running else "call_of_nobody"}))


def _tells(scene: Scene) -> JsonObject:
    return {"thread_id": scene.children[-1] if scene.children else "nobody", "message": "Hurry."}


_CALLS: Mapping[str, tuple[Part, ...]] = {
    "builds": (_call("run_build"),),
    "deploys": (_call("deploy"),),
    "explodes": (_call("explode"),),
    "lists": (_call("list_activity"),),
    "waits": (_call("sleep_until_event_or_input"),),
    "sleeps": (_call("sleep", '{"seconds": 600}'),),
    "sleeps for no time": (_call("sleep", '{"seconds": 0}'),),
    "calls twice": (_call("run_build"), _call("deploy")),
    "guesses a tool": (_call("no such tool!"),),
}
_ABOUT_ITSELF: Mapping[str, Callable[[Scene], Part]] = {
    "cancels": lambda scene: _cancels("cancel_tool_call", scene.detached),
    "unsubscribes": lambda scene: _cancels("cancel_subscription", scene.subscribed),
    "spawns": lambda scene: _call("spawn_thread", json.dumps(_spawns(scene))),
    "spawns afresh": lambda scene: _call("spawn_thread", json.dumps(_spawns(scene, inherits=False))),
    "tells a child": lambda scene: _call("send_message_to_child", json.dumps(_tells(scene))),
    "reports": lambda scene: _call("report_to_parent", json.dumps({"report": f"Done by {scene.stack[-1]}."})),
    "closes": lambda scene: _call("close_thread", json.dumps({"thread_id": scene.stack[-1]})),
    "closes with a report": lambda scene: _call(
        "close_thread", json.dumps({"thread_id": scene.stack[-1], "report_to_parent": "All done."})
    ),
}
TURNS: Mapping[str, Ground | None] = {
    **dict.fromkeys(_CALLS),
    "cancels": None,
    "says nothing": None,
    "is cut short": None,
    **dict.fromkeys(
        ("spawns", "spawns afresh", "tells a child", "reports", "closes", "closes with a report"), "family"
    ),
    "unsubscribes": "subscriptions",
    "reads much": "compaction",
    "reads much and builds": "compaction",
}


def turn(chosen: str, said: SaidText, scene: Scene) -> Completion:
    """Return the turn of this name; what is no name is a plain answer."""
    if chosen == "says nothing":
        return Completion((), "end_turn", _USAGE)
    if chosen == "is cut short":
        return Completion((said, _call("run_build", '{"sec')), "max_tokens", _USAGE)
    if chosen == "reads much":
        return Completion((said,), "end_turn", _MUCH)
    if chosen == "reads much and builds":
        return Completion((said, *_CALLS["builds"]), "tool_use", _MUCH)
    about_itself = _ABOUT_ITSELF.get(chosen)
    parts = (about_itself(scene),) if about_itself else _CALLS.get(chosen)
    return Completion((said,), "end_turn", _USAGE) if parts is None else Completion((said, *parts), "tool_use", _USAGE)
