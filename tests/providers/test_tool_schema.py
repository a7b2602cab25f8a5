"""A tool's schema for each API: what is kept, what is left out, what stands in its place."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from agrun_wasm.contracts.model import ToolSpec
from agrun_wasm.providers.offered_tools import OfferedTools, wire_name
from agrun_wasm.providers.tool_schema import anthropic_schema, gemini_schema, openai_schema

STRING = {"type": "string"}

#: a property's schema, and what Gemini is sent
GEMINI: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"type": "string"}, {"type": "STRING"}),
    ({"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
    ({"type": ["string", "integer"]}, {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "STRING", "nullable": True}),
    (
        {"oneOf": [{"type": "string"}, {"type": "number"}], "default": 1},
        {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]},
    ),
    ({"const": "a"}, {"type": "STRING", "enum": ["a"]}),
    ({"type": "string", "enum": ["a", "b"]}, {"type": "STRING", "enum": ["a", "b"]}),
    (
        {"type": "integer", "enum": [1, 2], "description": "How."},
        {"type": "INTEGER", "description": "How. One of: 1, 2"},
    ),
    ({"type": "string", "format": "uri"}, {"type": "STRING"}),
    ({"type": "string", "format": "date-time"}, {"type": "STRING", "format": "date-time"}),
    (
        {"type": "integer", "exclusiveMinimum": 0, "minimum": 1, "examples": [2]},
        {"type": "INTEGER", "minimum": 1},
    ),
    ({"type": "array"}, {"type": "ARRAY", "items": {"type": "STRING"}}),
    ({"type": "array", "items": {"type": "integer"}}, {"type": "ARRAY", "items": {"type": "INTEGER"}}),
    ({"type": "object", "additionalProperties": True}, {"type": "OBJECT"}),
    (
        {"type": "object", "properties": {"b": STRING, "a": STRING}, "required": ["a", "x"]},
        {
            "type": "OBJECT",
            "properties": {"b": {"type": "STRING"}, "a": {"type": "STRING"}},
            "propertyOrdering": ["b", "a"],
            "required": ["a"],
        },
    ),
    ({"$ref": "#/$defs/Word"}, {"type": "STRING", "description": "A word."}),
    ({"$ref": "#/$defs/Tree"}, {"type": "OBJECT"}),
    (
        {"allOf": [{"type": "object", "properties": {"a": STRING}}]},
        {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "propertyOrdering": ["a"]},
    ),
    ({}, {"type": "STRING"}),
]
DEFS = {"Word": {"type": "string", "description": "A word."}, "Tree": {"type": "object"}}


@pytest.mark.parametrize(("schema", "expected"), GEMINI)
def test_gemini(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    top = {"$schema": "x", "type": "object", "properties": {"it": schema}, "$defs": DEFS}
    before = copy.deepcopy(top)
    assert gemini_schema(top) == {"type": "OBJECT", "properties": {"it": expected}, "propertyOrdering": ["it"]}
    assert top == before


def test_gemini_ends_where_a_schema_does_not() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}}
    assert gemini_schema({"type": "object", "properties": {"t": {"$ref": "#/$defs/Tree"}}, "$defs": {"Tree": tree}})


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "object", "properties": {}}])
def test_a_tool_without_properties(schema: dict[str, Any]) -> None:
    assert openai_schema(schema) == {"type": "object", "properties": {}}
    assert anthropic_schema(schema) == {"type": "object", "properties": {}}
    assert gemini_schema(schema) is None


def test_openai_and_anthropic_keep_what_they_understand() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"], "oneOf": [{}]}
    assert openai_schema(schema)["properties"]["a"] == {"type": "array", "items": {}}
    assert openai_schema(schema)["oneOf"] == [{}]
    assert "oneOf" not in anthropic_schema(schema)
    assert anthropic_schema(schema)["required"] == ["a"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("read_url", "read_url"),
        ("Read-URL_2", "Read-URL_2"),
        ("functions.read_url", "functions_read_url"),
        ("a b", "a_b"),
        ("2nd", "_2nd"),
        ("-x", "_-x"),
        ("查", "u67e5"),
        ("", "_"),
        ("x" * 70, "x" * 64),
    ],
)
def test_wire_names(name: str, expected: str) -> None:
    assert wire_name(name) == expected


def test_tools_are_encoded_once_and_names_lead_back() -> None:
    made: list[str] = []

    def encode(tool: ToolSpec, name: str) -> str:
        made.append(name)
        return name

    offered = OfferedTools(encode)
    tools = (ToolSpec("a.b", "", {}), ToolSpec("a_b", "", {}))
    assert offered.of(tools).json == '["a_b","a_b_2"]'
    assert offered.of(tuple(tools)).names == {"a_b": "a.b", "a_b_2": "a_b"}
    assert offered.of((ToolSpec("a.b", "", {}), ToolSpec("a_b", "", {}))).json
    assert made == ["a_b", "a_b_2"]
    assert offered.of(()).json == ""
