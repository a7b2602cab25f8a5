"""Tool schemas and examples from argsSchema and argsExample; decision tools as the contract states them. Rules: 2.3."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agrun_wasm.planner.projection import DECISION_TOOL_SPECS, example_args, parameters, tool_spec
from tests.kit import adder

OPT_OUT = {"reason": "free form"}

#: planner metadata -> JSON Schema of the arguments
SCHEMAS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"argsSchema": {}}, {"type": "object", "properties": {}}),
    (
        {"argsSchema": {"city": {"type": "string", "required": True, "aliases": ["town"], "description": "where"}}},
        {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "where"}},
            "required": ["city"],
        },
    ),
    (
        {"argsSchema": {"n": {"type": "integer", "enum": [1, 2]}, "on": {"type": "boolean"}, "x": {"type": "number"}}},
        {
            "type": "object",
            "properties": {
                "n": {"type": "integer", "enum": [1, 2]},
                "on": {"type": "boolean"},
                "x": {"type": "number"},
            },
        },
    ),
    (
        {
            "argsSchema": {
                "rows": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"id": {"type": "integer", "required": True, "aliases": ["no"]}},
                    },
                }
            }
        },
        {
            "type": "object",
            "properties": {
                "rows": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
                }
            },
        },
    ),
    ({"argsSchema": {"l": {"type": "array"}}}, {"type": "object", "properties": {"l": {"type": "array", "items": {}}}}),
    ({"argsSchemaOptOut": OPT_OUT}, {"type": "object", "properties": {}, "additionalProperties": True}),
    (
        {"argsSchemaOptOut": OPT_OUT, "argsExample": {"a": "x", "n": 1, "b": True, "l": ["x"], "o": {"k": None}}},
        {
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "n": {"type": "number"},
                "b": {"type": "boolean"},
                "l": {"type": "array", "items": {"type": "string"}},
                "o": {"type": "object", "properties": {"k": {"type": "string"}}},
            },
            "additionalProperties": True,
        },
    ),
    (
        {"argsSchema": {"a": {"type": "string"}}, "argsExample": {"z": 1}},
        {"type": "object", "properties": {"a": {"type": "string"}}},
    ),
]


@pytest.mark.parametrize(("planner", "schema"), SCHEMAS)
def test_parameters(planner: dict[str, Any], schema: dict[str, Any]) -> None:
    projected = parameters(adder(planner=planner))
    assert projected == schema
    Draft202012Validator.check_schema(projected)


@pytest.mark.parametrize(
    ("planner", "example"),
    [
        ({"argsSchema": {"a": {"type": "string"}}, "argsExample": {"a": "Porto"}}, {"a": "Porto"}),
        ({"argsSchema": {"a": {"type": "string", "enum": ["x", "y"]}}}, {"a": "x"}),
        (
            {"argsSchema": {"r": {"type": "object", "properties": {"n": {"type": "integer"}}}}},
            {"r": {"n": 1}},
        ),
        ({"argsSchema": {"l": {"type": "array", "items": {"type": "boolean"}}}}, {"l": [True]}),
        ({"argsSchemaOptOut": OPT_OUT}, {}),
    ],
)
def test_an_example_for_the_envelope_prompt(planner: dict[str, Any], example: dict[str, Any]) -> None:
    assert example_args(adder(planner=planner)) == example


def test_a_tool_is_described_by_description_and_guidance() -> None:
    tool = tool_spec(adder(description="Adds.", planner={"argsSchema": {}, "guidance": "For sums only."}))
    assert (tool.name, tool.description) == ("add", "Adds. For sums only.")


REQUIRED = {"plan": ["actions"], "finalize": [], "final_answer": ["answer"]}


@pytest.mark.parametrize("spec", DECISION_TOOL_SPECS, ids=lambda spec: spec.name)
def test_decision_tools(spec: Any) -> None:
    Draft202012Validator.check_schema(dict(spec.parameters))
    assert spec.parameters.get("required", []) == REQUIRED[spec.name]
    assert spec.description
    assert "g3" not in spec.description


def test_the_plan_tool_says_when_to_plan() -> None:
    plan = next(spec for spec in DECISION_TOOL_SPECS if spec.name == "plan")
    for word in ("independent", '"direct"', "stitch"):
        assert word in plan.description
