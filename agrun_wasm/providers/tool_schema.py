"""A tool's JSON Schema as each API takes it: one projection, three dialects (2.3 Tool schemas).

Owned here: what OpenAI, Anthropic and Gemini refuse in a schema and what is sent instead. Must not know: where a schema
comes from. Pure; a schema is never changed, only copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["GEMINI_KEYWORDS", "anthropic_schema", "gemini_schema", "openai_schema"]

#: what Gemini's Schema object has a field for; other keywords make it refuse the request
GEMINI_KEYWORDS = frozenset(
    {
        "anyOf", "description", "enum", "example", "format", "items", "maxItems", "maxLength", "maxProperties",
        "maximum", "minItems", "minLength", "minProperties", "minimum", "nullable", "pattern", "properties", "required",
        "title", "type",
    }
)  # fmt: skip
_GEMINI_FORMATS = {
    "string": frozenset({"enum", "date-time"}),
    "number": frozenset({"float", "double"}),
    "integer": frozenset({"int32", "int64"}),
}
_COMBINED = ("anyOf", "oneOf", "allOf")


def openai_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """For chat completions and responses: an object that names its properties, arrays that name their items."""
    return _object_at_top(_with_items(schema))


def anthropic_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """For `input_schema`: an object at the top, without a combination there."""
    top = _object_at_top(schema)
    for keyword in _COMBINED:
        top.pop(keyword, None)
    return top


def gemini_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """For `parameters`: upper-case types, `propertyOrdering`, no unknown keyword. None for a tool without properties,
    since an OBJECT at the top must not be empty."""
    top = _gemini(_object_at_top(schema), _definitions(schema), 0)
    return top if top.get("properties") else None


def _object_at_top(schema: Mapping[str, Any]) -> dict[str, Any]:
    top = {key: value for key, value in schema.items() if key != "$schema"}
    top["type"] = "object"
    top.setdefault("properties", {})
    return top


def _with_items(value: Any) -> Any:
    if isinstance(value, Mapping):
        copy = {key: _with_items(item) for key, item in value.items()}
        if copy.get("type") == "array":
            copy.setdefault("items", {})
        return copy
    return [_with_items(item) for item in value] if isinstance(value, list) else value


def _definitions(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**schema.get("definitions", {}), **schema.get("$defs", {})}


def _gemini(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    schema = _resolved(schema, definitions)
    if depth > 32:
        return {"type": "OBJECT"}
    out = {key: value for key, value in schema.items() if key in GEMINI_KEYWORDS}
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, list):
        _set_options(out, options, definitions, depth)
    _set_type(out, schema)
    if "const" in schema:
        out["enum"] = [schema["const"]]
    if "enum" in out:
        _set_enum(out)
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        out["properties"] = {name: _gemini(item, definitions, depth + 1) for name, item in properties.items()}
        if properties:
            out["propertyOrdering"] = list(properties)
        required = [name for name in schema.get("required", ()) if name in properties]
        if required:
            out["required"] = required
        else:
            out.pop("required", None)
        if not properties:
            del out["properties"]
    else:
        out.pop("required", None)
    if out.get("type") == "ARRAY":
        items = schema.get("items")
        out["items"] = _gemini(items, definitions, depth + 1) if isinstance(items, Mapping) and items else _ANYTHING
    elif "items" in out:
        del out["items"]
    return out


#: Gemini has no schema for "any value"; text is what a model can always write
_ANYTHING = {"type": "STRING"}


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """References in place, `allOf` merged."""
    for _ in range(8):
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        if not name:
            break
        schema = {**definitions.get(name, {}), **{key: value for key, value in schema.items() if key != "$ref"}}
    for part in schema.get("allOf") or ():
        if isinstance(part, Mapping):
            merged = _resolved(part, definitions)
            both = {**merged.get("properties", {}), **schema.get("properties", {})}
            schema = {**merged, **schema, **({"properties": both} if both else {})}
    return schema


def _set_options(out: dict[str, Any], options: list[Any], definitions: Mapping[str, Any], depth: int) -> None:
    kept = [option for option in options if isinstance(option, Mapping) and option.get("type") != "null"]
    if len(kept) < len(options):
        out["nullable"] = True
    out.pop("anyOf", None)
    projected = [_gemini(option, definitions, depth + 1) for option in kept]
    if len(projected) == 1:
        for key, value in projected[0].items():
            out.setdefault(key, value)
    elif projected:
        out["anyOf"] = projected


def _set_type(out: dict[str, Any], schema: Mapping[str, Any]) -> None:
    named = schema.get("type")
    if isinstance(named, list):
        words = [word for word in named if word != "null"]
        if len(words) < len(named):
            out["nullable"] = True
        if len(words) > 1:
            out.pop("type", None)
            out.setdefault("anyOf", [{"type": str(word).upper()} for word in words])
            return
        named = words[0] if words else "string"
    if isinstance(named, str):
        out["type"] = named.upper()
        if "format" in out and out["format"] not in _GEMINI_FORMATS.get(named.lower(), ()):
            del out["format"]
    elif "anyOf" not in out:
        out.setdefault("type", "OBJECT" if "properties" in schema else "STRING")
        out.pop("format", None)


def _set_enum(out: dict[str, Any]) -> None:
    """Gemini's enum is texts only: that of another type goes into the description."""
    values = out["enum"]
    if out.get("type", "STRING") == "STRING" and all(isinstance(value, str) for value in values):
        out["enum"] = [value for value in values if value]
        return
    del out["enum"]
    listed = "One of: " + ", ".join(str(value) for value in values)
    out["description"] = f"{out['description']} {listed}" if out.get("description") else listed
