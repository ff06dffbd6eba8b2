"""The manifest that a tool author's functions make, judged as the runtime judges it."""

import json
from typing import Annotated

import pytest

from handlers.rap_tools import Call, ToolServer
from runtime.model.toolsets import CachedManifest
from runtime.model.toolsets import ToolServer as Configured
from runtime.tools.manifest import judge


def test_annotations_and_docstring_are_what_the_model_is_told() -> None:
    tools = ToolServer("Shop", "What is in stock.")

    @tools.tool()
    def order(call: Call, article: Annotated[str, "What."], pieces: int, notes: list[str], price: float = 0) -> None:
        """Order an article.

        In pieces.
        """

    @tools.tool(annotations={"x-on-interrupt": "cancel"})
    def urgent(express: bool = False) -> None:
        """Hurry."""

    assert tools.manifest() == {
        "name": "Shop",
        "description": "What is in stock.",
        "endpoint": "call",
        "tools": [
            {
                "name": "order",
                "description": "Order an article.\n\nIn pieces.",
                "inputSchema": {
                    "type": "object",
                    "properties": {
                        "article": {"type": "string", "description": "What."},
                        "pieces": {"type": "integer"},
                        "notes": {"type": "array", "items": {"type": "string"}},
                        "price": {"type": "number"},
                    },
                    "required": ["article", "pieces", "notes"],
                    "additionalProperties": False,
                },
            },
            {
                "name": "urgent",
                "description": "Hurry.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"express": {"type": "boolean"}},
                    "required": [],
                    "additionalProperties": False,
                },
                "annotations": {"x-on-interrupt": "cancel"},
            },
        ],
    }


def test_a_schema_that_is_given_stands_as_it_is() -> None:
    tools, schema = ToolServer("Shop"), {"type": "object", "properties": {"size": {"enum": ["S", "M"]}}}

    @tools.tool(schema=schema)
    def pick(size: object) -> None:
        """Pick."""

    assert tools.manifest()["tools"][0]["inputSchema"] == schema


def test_the_runtime_accepts_it() -> None:
    tools = ToolServer("Shop")

    @tools.tool(annotations={"x-on-interrupt": "cancel"})
    def pick(size: Annotated[str, "S, M or L."]) -> None:
        """Pick."""

    found = judge(Configured("shop", "http://127.0.0.1:1"), CachedManifest("shop", json.dumps(tools.manifest()), 0))

    assert found.faults == ()
    assert found.toolset is not None
    assert found.toolset.endpoint == "http://127.0.0.1:1/call"
    assert [tool.spec.name for tool in found.toolset.tools] == ["pick"]
    assert found.toolset.tools[0].on_interrupt == "cancel"


def test_a_function_that_the_model_could_not_be_told_of_is_no_tool() -> None:
    tools = ToolServer("Shop")

    def silent(size: str) -> str:
        return size

    def unclear(size: dict[str, str]) -> None:
        """Pick."""

    with pytest.raises(TypeError, match="silent needs a docstring"):
        tools.tool()(silent)
    with pytest.raises(TypeError, match="no schema can be made of dict"):
        tools.tool()(unclear)
