"""What a tool server offers is judged whole: a bad manifest contributes nothing, is told once, and harms no other."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from scripts.commands.messages import TextMessage
from scripts.commands.outputs import Output
from scripts.commands.target import offline_target
from scripts.offline_stack.stack import OfflineStack
from tests.offline.attached import DISCOVERY, attached, manifest, offers, tool
from tests.offline.outside import Outside, Printed, texts_said
from tests.support.tool_server import ScriptedServer, Step, scripted_server


def names_in(offered: object) -> list[str]:
    return [each["name"] for each in offered.get("tools", [])] if isinstance(offered, dict) else []


BAD_MANIFESTS: dict[str, tuple[object, str]] = {
    "no_json": ("<html>Welcome!</html>", "body is not JSON"),
    "list": ([], "body is not a JSON object"),
    "deep": ("[" * 200_000, "body is nested too deeply"),
    "no_name": ({"endpoint": "call", "tools": [tool("no_name_tool")]}, "name is missing"),
    "long_name": (manifest("long_name_tool", name="n" * 129), "name is not valid (string_too_long)"),
    "no_endpoint": ({"name": "A server", "tools": [tool("no_endpoint_tool")]}, "endpoint is missing"),
    "elsewhere": (manifest("elsewhere_tool", endpoint="http://127.0.0.2/call"), "endpoint"),
    "no_tools": (manifest(), "tools is not valid (too_short)"),
    "many_tools": (manifest(*(f"tool_{number}" for number in range(129))), "tools is not valid (too_long)"),
    "dots": (manifest("fs.read", "dots_tool"), '"fs.read" is not a tool name'),
    "long_tool": (manifest("t" * 65), "(65 characters)"),
    "blank": (manifest("Complete Session"), '"Complete Session" is not a tool name'),
    "twice": (manifest("same", "other", "same"), '"same" is defined 2 times'),
    "no_schema": (manifest(tools=[{"name": "no_schema_tool"}]), "tools.0.inputSchema is missing"),
    "schema_of_text": (
        manifest(tools=[tool("schema_of_text_tool", inputSchema="object")]),
        "tools.0.inputSchema is not valid (dict_type)",
    ),
    "schema_of_list": (
        manifest(tools=[tool("schema_of_list_tool", inputSchema={"type": "array"})]),
        'inputSchema of "schema_of_list_tool"',
    ),
    "schema_of_nothing": (
        manifest(tools=[tool("schema_of_nothing_tool", inputSchema={"type": "nothing"})]),
        'inputSchema of "schema_of_nothing_tool"',
    ),
    "heavy": (
        manifest(tools=[tool(f"heavy_{number}", description="d" * 9_000) for number in range(20)]),
        "go to the model",
    ),
}
UNREACHABLE = {
    "missing": Step(404),
    "broken": Step(500),
    "moved": Step(302, {"Location": "/good/.well-known/rap-toolset"}),
    "silent": Step(end="reset"),
    "endless": Step(body="x" * (1024 * 1024 + 1)),
}
PARTLY = {
    "clash_1": (manifest("clash", "only_1"), '"clash" is defined by more than one server and offered by none'),
    "clash_2": (manifest("clash", "only_2"), '"clash" is defined by more than one server and offered by none'),
    "reserved": (manifest("sleep", "not_reserved"), '"sleep" is a name of the runtime itself'),
}
GOOD = {"good": manifest("good_tool"), "dashes": manifest("t" * 64, "with-dash_1")}
REFUSED = {*(name for offered, _ in BAD_MANIFESTS.values() for name in names_in(offered)), "clash"}
OFFERED = {"good_tool", "t" * 64, "with-dash_1", "only_1", "only_2", "not_reserved"}
CALL_IT = '[[script: [{"call": "good_tool", "input": {}}]]]'


@dataclass(frozen=True)
class Conversation:
    """A thread that said hello twice and then called a good tool, while all those servers were attached."""

    thread_id: str
    outputs: Sequence[Output]
    printed: Printed
    server: ScriptedServer
    outside: Outside

    @property
    def reports(self) -> list[str]:
        return [output.text_of("message") for output in self.outputs if output.type == "error"]

    @property
    def offered(self) -> list[list[str]]:
        """The names of the tools that the model was offered, for each of its requests."""
        bodies = [json.loads(line)["body"] for line in self.outside.stack.model_log_path.read_text().splitlines()]
        return [
            [each["toolSpec"]["name"] for each in body["toolConfig"]["tools"] if "toolSpec" in each]
            for body in bodies
            if self.thread_id in json.dumps(body["messages"])
        ]


@pytest.fixture(scope="module")
def conversation(stack: OfflineStack) -> Iterator[Conversation]:
    outside = Outside(stack, offline_target(stack))
    thread_id, printed = f"{outside.run}-manifests", outside.printed()
    names = [*GOOD, *BAD_MANIFESTS, *PARTLY, *UNREACHABLE]
    with scripted_server() as server:
        for name, (offered, _) in {**BAD_MANIFESTS, **PARTLY}.items():
            offers(server, name, offered)
        for name, offered in GOOD.items():
            offers(server, name, offered)
        for name, step in UNREACHABLE.items():
            server.plan(f"/{name}{DISCOVERY}", step)
        with attached(stack, server.url, names):
            for text in (f"Hello from {thread_id}.", "Hello again.", CALL_IT):
                outside.send(thread_id, TextMessage(thread_id, text).body)
                outside.settle()
            yield Conversation(thread_id, outside.outputs()[thread_id], printed, server, outside)


@pytest.mark.parametrize("name", [*BAD_MANIFESTS, *PARTLY])
def test_a_manifest_that_is_refused_is_reported_once_with_its_reason(name: str, conversation: Conversation) -> None:
    _, reason = {**BAD_MANIFESTS, **PARTLY}[name]
    (report,) = [report for report in conversation.reports if report.startswith(f"{name}: ")]
    assert reason in report


@pytest.mark.parametrize("name", UNREACHABLE)
def test_a_server_that_gives_no_manifest_is_reported_once(name: str, conversation: Conversation) -> None:
    reports = [report for report in conversation.reports if report.startswith(f"{name}: ")]
    assert len(reports) == 1
    assert "its manifest could not be fetched: the " in reports[0]


def test_nothing_of_a_refused_manifest_is_offered_and_all_of_the_others_is(conversation: Conversation) -> None:
    first, *others = conversation.offered
    assert set(first) >= OFFERED
    assert REFUSED.isdisjoint(first)
    assert others == [first, first]


def test_the_tool_of_a_good_server_is_called_although_the_others_are_bad(conversation: Conversation) -> None:
    (call,) = conversation.server.requests("/good/call")
    assert json.loads(call.body)["operation"] == "good_tool"
    assert 'You said: "Hello again."' in "\n".join(texts_said(conversation.outputs))


def test_refusals_are_counted_and_no_report_is_an_end(conversation: Conversation) -> None:
    errors = [output.fields for output in conversation.outputs if output.type == "error"]
    assert Counter(fields["code"] for fields in errors) == {"tool_refused": len(BAD_MANIFESTS) + 3 + len(UNREACHABLE)}
    assert not any(fields["retrying"] for fields in errors)
    assert conversation.printed.counted["tool_refused"] >= len(errors)
