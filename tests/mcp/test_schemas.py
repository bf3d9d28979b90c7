"""A server's schemas in the form that every provider takes: else no message gets through."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import mcp_types
import pytest
from msgspec.structs import replace

from desktop_agent.core.requests import ToolSpec
from desktop_agent.mcp_host.bounds import tool_of
from tests.helpers.providers import LoopbackProvider
from tests.model_host.conftest import hear, request_to
from tests.model_host.conftest import model as model

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
TREE = {"type": "object", "properties": {"kids": {"items": {"$ref": "#/$defs/Tree"}}}}
DEEP: dict[str, Any] = TEXT
for _ in range(60):
    DEEP = {"type": "array", "items": DEEP}


def offered(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool as the app has it."""
    tool = tool_of(mcp_types.Tool(name="t", input_schema=schema))
    assert tool is not None
    return tool.schema


def of(inner: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": inner}}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        # As Rust's schemars writes any value, and as draft 7 and 2020-12 write tuples.
        (True, {}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "array", "items": True}, {"type": "array", "items": {}}),
        ({"type": "array", "items": [TEXT, TEXT]}, {"type": "array", "items": TEXT}),
        (
            {"type": "array", "items": [TEXT, NUMBER], "additionalItems": False},
            {"type": "array", "items": {"anyOf": [TEXT, NUMBER]}},
        ),
        (
            {"type": "array", "prefixItems": [TEXT, NUMBER], "items": False},
            {"type": "array", "items": {"anyOf": [TEXT, NUMBER]}},
        ),
        ({"oneOf": [TEXT, NUMBER]}, {"anyOf": [TEXT, NUMBER]}),
        ({"allOf": [TEXT], "description": "d"}, {**TEXT, "description": "d"}),
        ({"type": "any"}, {}),
        ({"enum": ["a", "b"]}, {"enum": ["a", "b"], "type": "string"}),
        ({"const": "a"}, {"enum": ["a"], "type": "string"}),
        (
            {"type": "number", "minimum": 0, "exclusiveMinimum": True},
            {"type": "number", "exclusiveMinimum": 0},
        ),
        ({"type": "string", "required": True}, TEXT),
    ],
)
def test_what_a_provider_refuses_or_misreads_is_told_otherwise(given: Any, told: Any) -> None:
    assert offered(of(given))["properties"]["x"] == told


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": TEXT}, "required": ["a"], "description": "d"},
        {**of({"type": ["string", "null"], "default": None, "title": "X"}), "title": "T"},
        {**of({"$ref": "#/$defs/Tree"}), "$defs": {"Tree": {**TREE, "title": "items"}}},
        of({"type": "object", "additionalProperties": TEXT, "properties": {"items": TEXT}}),
    ],
)
def test_what_every_provider_takes_stays_as_it_is(schema: dict[str, Any]) -> None:
    assert offered(schema) == schema


def test_choices_at_the_top_become_one_object() -> None:
    first = {**of({"const": "a"}), "required": ["x", "y"]}
    second = {"properties": {"x": {"const": "b"}, "z": TEXT}, "required": ["x"]}
    told = offered({"oneOf": [first, {"$ref": "#/$defs/B"}], "$defs": {"B": second}})
    assert "oneOf" not in told
    assert "anyOf" not in told
    assert told["type"] == "object"
    assert set(told["properties"]) == {"x", "z"}
    assert told["properties"]["x"]["anyOf"][1]["enum"] == ["b"]
    assert told["required"] == ["x"]


def test_a_reference_at_the_top_is_followed() -> None:
    told = offered({"$ref": "#/definitions/In", "definitions": {"In": of(TEXT)}})
    assert told["properties"] == {"x": TEXT}
    assert "$ref" not in told


HARD = (
    {},
    of(True),
    of({"type": "array", "items": [TEXT, NUMBER]}),
    of({"type": "array"}),
    of({"anyOf": "no list", "properties": 3, "required": "x", "items": 4, "enum": []}),
    of(DEEP),
    {"$ref": "#"},
    {"$ref": "#/nowhere/at/all", "allOf": [of(TEXT), {"required": ["x"]}]},
    {"type": "object", "anyOf": [of(TEXT), {"not": of(TEXT)}], "enum": [1]},
    {**of({"$ref": "#/$defs/Tree"}), "$defs": {"Tree": TREE}},
)


@pytest.mark.parametrize("schema", HARD, ids=range(len(HARD)))
def test_whatever_a_server_writes_is_a_schema_of_today(schema: dict[str, Any]) -> None:
    told = offered(schema)
    if "enum" not in json.dumps(schema):
        jsonschema.Draft202012Validator.check_schema(told)
    assert told["type"] == "object"
    assert isinstance(told["properties"], dict)


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    ("dialect", "name"), [("gemini", "gemini/gemini-2.5-pro"), ("anthropic", "anthropic/claude-x")]
)
async def test_no_schema_of_a_server_stops_a_message(dialect, name, model) -> None:
    tools = tuple(ToolSpec(f"t{at}", "d", offered(one)) for at, one in enumerate(HARD))
    with LoopbackProvider(dialect) as provider:
        heard = await hear(model, replace(request_to(provider, tools=tools), model=name))
    assert heard.fault is None
    assert heard.text == "Done."
