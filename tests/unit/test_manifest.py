import json
from typing import Any

import pytest

from runtime.model.toolsets import CachedManifest, OfferedTool, ToolServer, Toolset
from runtime.model.turns import ToolSpec
from runtime.tools.builtin import RESERVED_NAMES
from runtime.tools.manifest import Judged, judge, without_conflicts
from runtime.tools.schemas import MAX_SCHEMA_BYTES

SERVER = ToolServer("builds", "https://builds.example/base", allowed_hosts=("workers.example",))
SCHEMA = {"type": "object", "properties": {"seconds": {"type": "number"}}}


def tool(name: str = "run_build", **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": "Run a build.", "inputSchema": SCHEMA, **fields}


def judged(*tools: dict[str, Any], server: ToolServer = SERVER, **fields: Any) -> Judged:
    manifest = {"name": "Builds", "endpoint": f"{server.url}/call", "tools": list(tools) or [tool()], **fields}
    return judge(server, CachedManifest(server.name, json.dumps(manifest), 0))


def names(toolsets: list[Toolset]) -> list[list[str]]:
    return [[offered.spec.name for offered in toolset.tools] for toolset in toolsets]


def test_a_valid_manifest_is_a_toolset_under_the_configured_name_in_its_own_order() -> None:
    found = judged(tool("b"), tool("a", annotations={"x-on-interrupt": "cancel"}))

    assert found.faults == ()
    assert found.toolset == Toolset(
        "builds",
        "https://builds.example/base/call",
        (
            OfferedTool(ToolSpec("b", "Run a build.", SCHEMA)),
            OfferedTool(ToolSpec("a", "Run a build.", SCHEMA), "cancel"),
        ),
    )


def test_fields_of_the_protocol_that_are_not_for_us_do_not_matter() -> None:
    found = judged(tool(displayScript="alert(1)"), description="All builds", needsMigration=False, more=[1])

    assert found.toolset is not None


def test_a_tool_without_description_or_schema_type_is_completed_for_strict_providers() -> None:
    found = judged({"name": "ping", "inputSchema": {}})

    assert found.toolset is not None
    assert found.toolset.tools[0].spec == ToolSpec("ping", "ping", {"type": "object"})


@pytest.mark.parametrize("annotation", [None, "later", 7, {"cancel": True}])
def test_an_unknown_rule_for_interruptions_means_that_the_tool_goes_on(annotation: object) -> None:
    found = judged(tool(annotations={"x-on-interrupt": annotation}))

    assert found.toolset is not None
    assert found.toolset.tools[0].on_interrupt == "continue"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("fs.read", '"fs.read"'),
        ("Complete Session", '"Complete Session"'),
        ("x" * 80, "(80 characters)"),
        ("", '""'),
        ("zürich", '"zürich"'),
        ("line\nbreak", '"line?break"'),
    ],
)
def test_a_name_the_model_would_refuse_refuses_the_set_and_is_shown_in_the_report(name: str, shown: str) -> None:
    found = judged(tool("good"), tool(name))

    assert found.toolset is None
    [refusal] = found.refusals
    assert shown in refusal.reason
    assert refusal.server == "builds"
    assert refusal.manifest_hash


def test_two_names_that_a_limit_would_make_equal_are_refused_and_not_cut() -> None:
    found = judged(tool("x" * 64 + "_read"), tool("x" * 64 + "_write"))

    assert found.toolset is None
    assert len(found.faults) == 2


def test_one_name_twice_in_a_set_refuses_it() -> None:
    assert judged(tool("same"), tool("same")).faults == ('"same" is defined 2 times',)


def test_all_that_is_wrong_with_a_set_is_in_one_report_of_bounded_length() -> None:
    found = judged(*(tool(f"bad name {number}") for number in range(100)), endpoint="https://elsewhere.example/")

    [refusal] = found.refusals
    assert "endpoint" in refusal.reason
    assert "and 91 more" in refusal.reason
    assert len(refusal.reason) < 2_000


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://builds.example/elsewhere",
        "https://BUILDS.example:443/x?y=z",
        "https://workers.example/call",
        "https://workers.example:8443/call",
    ],
)
def test_an_endpoint_on_the_configured_host_or_an_allowed_one_is_accepted(endpoint: str) -> None:
    assert judged(endpoint=endpoint).toolset is not None


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://builds.example/call",
        "https://builds.example:8443/call",
        "https://builds.example.evil.example/call",
        "https://evil.example/builds.example",
        "https://builds.example@evil.example/call",
        "https://user:secret@builds.example/call",
        "https://evil.example\\@builds.example/call",
        "https://builds.example:port/call",
        "https://[builds.example/call",
        "//evil.example/call",
        "ftp://builds.example/call",
        "https://builds.example/ü",
        "https://builds.example/a b",
    ],
)
def test_an_endpoint_elsewhere_would_take_the_credentials_with_it_and_is_refused(endpoint: str) -> None:
    found = judged(endpoint=endpoint)

    assert found.toolset is None
    assert found.faults[0].startswith("endpoint ")
    assert endpoint not in found.faults[0]


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("call", "https://builds.example/base/call"),
        ("/call", "https://builds.example/call"),
        ("//workers.example/call", "https://workers.example/call"),
    ],
)
def test_an_endpoint_without_a_host_is_relative_to_the_servers_base(endpoint: str, url: str) -> None:
    found = judged(endpoint=endpoint)

    assert found.toolset is not None
    assert found.toolset.endpoint == url


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": ["object", "null"]},
        {"type": "object", "properties": 7},
        {"type": "object", "required": "all"},
        {"type": "object", "properties": {"a": {"pattern": "("}}},
        {"type": "object", "properties": {"a": {"$ref": "https://evil.example/schema.json"}}},
        {"type": "object", "properties": {"a": {"$ref": "other.json"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"type": "object", "$ref": "#"},
        {"type": "object", "description": "x" * MAX_SCHEMA_BYTES},
    ],
)
def test_a_schema_no_call_could_be_checked_against_refuses_the_set(schema: dict[str, Any]) -> None:
    found = judged(tool(inputSchema=schema))

    assert found.toolset is None
    assert found.faults[0].startswith('inputSchema of "run_build"')


def test_a_schema_elsewhere_is_not_looked_for() -> None:
    found = judged(tool(inputSchema={"type": "object", "$ref": "https://evil.example/schema.json"}))

    assert found.faults == ('inputSchema of "run_build" refers to another document',)


def test_a_schema_may_refer_to_its_own_parts() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "string"}}}

    assert judged(tool(inputSchema=schema)).toolset is not None


@pytest.mark.parametrize("text", ["", "[]", "not json", '{"name":"x"}', "[" * 50_000])
def test_what_is_no_manifest_is_refused_with_the_field_at_fault(text: str) -> None:
    found = judge(SERVER, CachedManifest("builds", text, 0))

    assert found.toolset is None
    assert len(found.refusals) == 1


def test_the_same_manifest_has_the_same_hash_and_another_one_has_not() -> None:
    assert judged(tool("a")).manifest_hash == judged(tool("a")).manifest_hash != judged(tool("b")).manifest_hash


def test_a_name_that_two_servers_define_is_offered_by_neither_and_their_other_tools_are() -> None:
    first = judged(tool("shared"), tool("a"))
    second = judged(tool("b"), tool("shared"), server=ToolServer("other", "https://other.example"))

    toolsets, refusals = without_conflicts([first, second], [first, second])

    assert names(toolsets) == [["a"], ["b"]]
    assert [refusal.server for refusal in refusals] == ["builds", "other"]
    assert all('"shared"' in refusal.reason for refusal in refusals)


def test_a_server_that_is_away_still_keeps_a_name_from_the_other() -> None:
    here = judged(tool("shared"), tool("a"))
    away = judged(tool("shared"), server=ToolServer("other", "https://other.example"))

    toolsets, _ = without_conflicts([here], [here, away])

    assert names(toolsets) == [["a"]]


@pytest.mark.parametrize("name", sorted(RESERVED_NAMES))
def test_a_name_of_the_runtimes_own_is_left_out_and_the_rest_of_the_set_works(name: str) -> None:
    found = judged(tool(name), tool("a"))

    toolsets, refusals = without_conflicts([found], [found])

    assert names(toolsets) == [["a"]]
    assert name in refusals[0].reason


def test_a_set_of_which_nothing_is_left_is_not_offered() -> None:
    found = judged(tool("sleep"))

    toolsets, refusals = without_conflicts([found], [found])

    assert toolsets == []
    assert len(refusals) == 1


def test_tools_that_would_fill_the_window_by_themselves_refuse_the_set() -> None:
    tools = [tool(name=f"tool_{number}", description="x" * 9_900) for number in range(20)]

    found = judged(*tools)

    assert found.toolset is None
    assert "go to the model" in found.faults[0]
