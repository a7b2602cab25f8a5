"""The envelope's forms as one JSON Schema, for a model that can be held to it. The words for a model: `sections`.

Only keywords that a constrained decoder knows: type, properties, required, additionalProperties, const, enum, items,
anyOf and references into $defs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agrun_wasm.actions.clarification import NAME as ASK
from agrun_wasm.actions.definition import Action
from agrun_wasm.planner.projection import parameters

__all__ = ["decision_schema"]

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_CALLS = "#/$defs/call"
_SECTION = {"type": "object", "properties": {"title": _TEXT, "prompt": _TEXT}, "additionalProperties": False}
_STITCH = {
    "type": "object",
    "properties": {
        "intro_prompt": _TEXT,
        "outro_prompt": _TEXT,
        "provenance": _TEXT,
        "followups": _TEXTS,
        "drill_hints": _TEXTS,
    },
    "additionalProperties": False,
}


def decision_schema(offered: Sequence[Action]) -> dict[str, Any]:
    """A JSON Schema object of every decision that can be made with these actions."""
    calls = [_call(action) for action in offered if action.name != ASK]
    forms: list[dict[str, Any]] = []
    if calls:
        forms.append({"$ref": _CALLS})
        forms.append(
            _form(
                "plan",
                {
                    "actions": {"type": "array", "items": {"$ref": _CALLS}},
                    "synthesize_instruction": _TEXT,
                    "synthesize_per_action": {"type": "boolean"},
                    "partial_ok": {"type": "boolean"},
                    "stitch": _STITCH,
                },
                required=["actions"],
            )
        )
    forms.append(_form("final", {"answer": _TEXT, "citations": _TEXTS}, required=["answer"]))
    forms.append(_form("finalize", {"instruction": _TEXT}, required=["instruction"]))
    if len(calls) < len(offered):
        forms.append(_form("clarify", {"question": _TEXT}, required=["question"]))
    schema: dict[str, Any] = {"anyOf": forms}
    if calls:
        schema["$defs"] = {"call": {"anyOf": calls}}
    return schema


def _call(action: Action) -> dict[str, Any]:
    fields = {"name": {"const": action.name}, "args": parameters(action), "section": _SECTION}
    return _form("action", fields, required=["name", "args"])


def _form(word: str, fields: dict[str, Any], *, required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"type": {"const": word}, **fields, "reasoning": _TEXT},
        "required": ["type", *required],
        "additionalProperties": False,
    }
