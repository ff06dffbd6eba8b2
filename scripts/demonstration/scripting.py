"""Texts for the scripted model: plain words, and behind them what it is to do. See `model_endpoint.script`."""

import json
from dataclasses import replace
from typing import TypeAlias

from scripts.commands.messages import JsonObject, JsonValue
from scripts.commands.outputs import Output
from scripts.offline_stack.model_endpoint.script import without_scripts

Turn: TypeAlias = "list[JsonValue]"


def scripted(words: str, *turns: Turn, events: tuple[Turn, ...] = ()) -> str:
    """Say the words, and have these turns played; `events` are those of each thread that is made for one event."""
    script: dict[str, JsonValue] = {"turns": list(turns)}
    if events:
        script["events"] = list(events)
    return f"{words} [[script: {json.dumps(script)}]]"


def calls(name: str, **arguments: JsonValue) -> Turn:
    return [{"call": name, "input": arguments}]


def says(text: str) -> Turn:
    return [{"say": text}]


def spawns(stack: JsonValue, task: str, *turns: Turn) -> Turn:
    """Start a thread that plays these turns. `stack`: the ids from the root down to who starts it."""
    return calls("spawn_thread", instructions=scripted(task, *turns), child_of=stack)


def reports(text: str) -> Turn:
    return calls("report_to_parent", report=text)


def closes(last_report: str = "") -> Turn:
    arguments: JsonObject = {"report_to_parent": last_report} if last_report else {}
    return calls("close_thread", thread_id="<self>", **arguments)


def late(seconds: float, turn: Turn) -> Turn:
    """Play the turn after a silence of the model."""
    return [{"wait": seconds}, *turn]


def in_plain_words(output: Output) -> Output:
    """The output as it is shown to people: without what a script says in it."""
    return replace(output, fields={name: _plain(value) for name, value in output.fields.items()})


def _plain(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return without_scripts(value) if isinstance(value, str) else value
