"""Tool schemas: an action's argsSchema, or the shape of its argsExample, as JSON Schema. Rules: document 2, 2.3.

One projection for every provider and for the envelope prompt's examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from agrun_wasm.actions.definition import Action
from agrun_wasm.contracts.action import ArgSpec
from agrun_wasm.contracts.model import ToolSpec

_SPECS: WeakKeyDictionary[Action, ToolSpec] = WeakKeyDictionary()
_EXAMPLES: dict[str, Any] = {
    "string": "...",
    "number": 1.5,
    "integer": 1,
    "boolean": True,
    "array": [],
    "object": {},
}


def tool_spec(action: Action) -> ToolSpec:
    """The native tool of an action: description and guidance, and its parameters. The same object at every cycle of
    every run, which is a tenth of what a waiting run weighs; nobody changes one."""
    found = _SPECS.get(action)
    if found is None:
        found = _SPECS[action] = _tool_spec(action)
    return found


def _tool_spec(action: Action) -> ToolSpec:
    meta = action.planner
    guidance = meta.guidance if meta else ""
    description = " ".join(part for part in (action.description.strip(), guidance.strip()) if part)
    return ToolSpec(action.name, description, parameters(action))


def parameters(action: Action) -> dict[str, Any]:
    """JSON Schema of an action's arguments. Aliases are never projected; unknown keys stay allowed."""
    if action.args_schema is not None:
        return object_schema(action.args_schema)
    example = action.planner.args_example if action.planner else None
    if not example:
        return {"type": "object", "properties": {}, "additionalProperties": True}
    shapes = {key: _shape(value) for key, value in example.items()}
    return {"type": "object", "properties": shapes, "additionalProperties": True}


def object_schema(schema: Mapping[str, ArgSpec]) -> dict[str, Any]:
    projected: dict[str, Any] = {"type": "object", "properties": {key: _spec(spec) for key, spec in schema.items()}}
    if required := [key for key, spec in schema.items() if spec.required]:
        projected["required"] = required
    return projected


def _spec(spec: ArgSpec) -> dict[str, Any]:
    projected: dict[str, Any] = {"type": spec.type}
    if spec.description:
        projected["description"] = spec.description
    if spec.enum is not None:
        projected["enum"] = list(spec.enum)
    if spec.items is not None:
        projected["items"] = _spec(spec.items)
    elif spec.type == "array":
        projected["items"] = {}
    if spec.properties is not None:
        projected.update({k: v for k, v in object_schema(spec.properties).items() if k != "type"})
    return projected


def _shape(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int | float):
        return {"type": "number"}
    if isinstance(value, list):
        return {"type": "array", "items": _shape(value[0]) if value else {}}
    if isinstance(value, dict):
        return {"type": "object", "properties": {key: _shape(part) for key, part in value.items()}}
    return {"type": "string"}


def example_args(action: Action) -> dict[str, Any]:
    """The argsExample, or one made from the argsSchema."""
    meta = action.planner
    if meta and meta.args_example is not None:
        return meta.args_example
    return {key: _example(spec) for key, spec in (action.args_schema or {}).items()}


def _example(spec: ArgSpec) -> Any:
    if spec.enum:
        return spec.enum[0]
    if spec.items is not None:
        return [_example(spec.items)]
    if spec.properties is not None:
        return {key: _example(part) for key, part in spec.properties.items()}
    return _EXAMPLES[spec.type]


PLAN_GUIDANCE = (
    "Run several independent actions, all known now, in parallel before one synthesis. "
    'synthesize_instruction "direct" goes on to your next decision with the results; any other text instructs the '
    "writer of the answer. synthesize_per_action writes one section for each action by its section.prompt; "
    "follow-ups and drill hints belong in stitch."
)

_STITCH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "intro_prompt": {"type": "string"},
        "outro_prompt": {"type": "string"},
        "provenance": {"type": "string"},
        "followups": {"type": "array", "items": {"type": "string"}},
        "drill_hints": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {k: {"type": "string"} for k in ("match_header", "label", "prompt")},
                "required": ["match_header", "label", "prompt"],
            },
        },
    },
}
_PLAN_ITEM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": ["action"]},
        "name": {"type": "string"},
        "args": {"type": "object", "properties": {}, "additionalProperties": True},
        "section": {"type": "object", "properties": {"title": {"type": "string"}, "prompt": {"type": "string"}}},
    },
    "required": ["name"],
}

#: the planner's own tools in native mode; ask_clarification is an action and comes with those
DECISION_TOOL_SPECS: tuple[ToolSpec, ...] = (
    ToolSpec(
        "plan",
        PLAN_GUIDANCE,
        {
            "type": "object",
            "properties": {
                "actions": {"type": "array", "items": _PLAN_ITEM},
                "synthesize_instruction": {"type": "string"},
                "synthesize_per_action": {"type": "boolean"},
                "stitch": _STITCH,
                "partial_ok": {"type": "boolean"},
            },
            "required": ["actions"],
        },
    ),
    ToolSpec(
        "finalize",
        "Let the writer compose the answer from the results so far.",
        {"type": "object", "properties": {"instruction": {"type": "string"}}},
    ),
    ToolSpec(
        "final_answer",
        "End with your answer. Plain text without a tool call does the same.",
        {
            "type": "object",
            "properties": {
                "answer": {"type": "string"},
                "citations": {"type": "array", "items": {"type": "string"}, "description": "URLs of pages read"},
            },
            "required": ["answer"],
        },
    ),
)
