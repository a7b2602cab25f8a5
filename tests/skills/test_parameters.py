"""A tool's arguments: aliases, then the phases of 2.4, then the JSON Schema; the fault's path and reason."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from agrun_wasm.skills.parameters import check_against, check_parameters, specs_of, without_aliases

RANGE = {
    "type": "object",
    "properties": {
        "start": {"type": "integer", "aliases": ["from"]},
        "end": {"type": "integer"},
        "unit": {"type": "string", "enum": ["day", "week"]},
    },
    "required": ["start"],
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "aliases": ["title", "label"]},
        "range": RANGE,
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}},
        "rows": {
            "type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "integer", "aliases": ["no"]}}},
        },
        "note": {"type": ["string", "null"], "aliases": ["remark"], "minLength": 2},
        "share": {"type": "number", "exclusiveMinimum": 0},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    },
    "required": ["name"],
    "additionalProperties": False,
}

#: args, canonical args or None, fault (key, reason) or None, rewrites
CASES: dict[str, tuple[dict[str, Any], dict[str, Any] | None, tuple[str | None, str] | None, list[str]]] = {
    "good": ({"name": "a", "share": 1}, {"name": "a", "share": 1}, None, []),
    "alias": ({"title": "a"}, {"name": "a"}, None, ["title>name"]),
    "nested alias": (
        {"name": "a", "range": {"from": 1}},
        {"name": "a", "range": {"start": 1}},
        None,
        ["range.from>range.start"],
    ),
    "alias in items": (
        {"name": "a", "rows": [{"no": 1}, {"id": 2}]},
        {"name": "a", "rows": [{"id": 1}, {"id": 2}]},
        None,
        ["rows[0].no>rows[0].id"],
    ),
    "alias of an open type": ({"name": "a", "remark": "hi"}, {"name": "a", "note": "hi"}, None, ["remark>note"]),
    "collision": ({"name": "a", "title": "b"}, {"name": "a"}, None, ["title>name!"]),
    "null alias": ({"name": "a", "title": None}, {"name": "a"}, None, []),
    "missing": ({}, None, ("name", "missing"), []),
    "blank": ({"name": " "}, None, ("name", "missing"), []),
    "null": ({"name": None}, None, ("name", "missing"), []),
    "nested missing": ({"name": "a", "range": {}}, None, ("range.start", "missing"), []),
    "optional null": ({"name": "a", "share": None}, {"name": "a"}, None, []),
    "missing before type": ({"share": "x"}, None, ("name", "missing"), []),
    "type": ({"name": 3}, None, ("name", "type"), []),
    "true is no integer": ({"name": "a", "range": {"start": True}}, None, ("range.start", "type"), []),
    "2.0 is an integer": ({"name": "a", "range": {"start": 2.0}}, {"name": "a", "range": {"start": 2.0}}, None, []),
    "type before enum": ({"name": "a", "range": {"start": "x", "unit": "y"}}, None, ("range.start", "type"), []),
    "enum": ({"name": "a", "range": {"start": 1, "unit": "year"}}, None, ("range.unit", "enum"), []),
    "open type": ({"name": "a", "note": 3}, None, ("note", "type"), []),
    "pattern": ({"name": "a", "tags": ["ok", "7"]}, None, ("tags[1]", "preflight"), []),
    "item type": ({"name": "a", "tags": ["ok", 7]}, None, ("tags[1]", "type"), []),
    "bound": ({"name": "a", "share": 0}, None, ("share", "preflight"), []),
    "length": ({"name": "a", "note": "x"}, None, ("note", "preflight"), []),
    "anyOf": ({"name": "a", "either": []}, None, ("either", "preflight"), []),
    "extra": ({"name": "a", "colour": 1}, None, ("colour", "preflight"), []),
}


@pytest.mark.parametrize("kind", CASES)
def test_cases(kind: str) -> None:
    args, canonical, fault, rewrites = CASES[kind]
    given = {**args}
    checked = check_against(SCHEMA, args)
    assert args == given
    assert (checked.fault and (checked.fault.key, checked.fault.reason)) == fault
    if canonical is not None:
        assert checked.args == canonical
    assert [f"{r['from']}>{r['to']}{'!' if r['collision'] else ''}" for r in checked.rewrites] == rewrites


def one(part: dict[str, Any], *, required: bool = False) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": part}, "required": ["x"] if required else []}


@pytest.mark.parametrize(
    ("schema", "args", "fault"),
    [
        (one({"type": ["string", "null"]}, required=True), {"x": None}, None),
        (one({"type": ["string", "null"]}, required=True), {}, ("x", "missing")),
        (one({"enum": ["a", "b"]}), {"x": "c"}, ("x", "enum")),
        (one({"const": 1}), {"x": 2}, ("x", "preflight")),
        (one({}), {"x": [1, {}]}, None),
        (one({"$ref": "#/$defs/y"}) | {"$defs": {"y": {"type": "integer"}}}, {"x": "a"}, ("x", "type")),
        (one({"$ref": "https://example.org/schema.json"}), {"x": "a"}, (None, "preflight")),
        (one({"$ref": "#/$defs/none"}), {"x": "a"}, (None, "preflight")),
        (one({"type": "string", "pattern": "("}), {"x": "a"}, (None, "preflight")),
        (one({"type": "integer", "minimum": "one"}), {"x": 1}, (None, "preflight")),
        ({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, (None, "preflight")),
        ({"type": "object", "minProperties": 1}, {}, (None, "preflight")),
        ({}, {"anything": 1}, None),
        (
            one({"type": "array", "prefixItems": [{"type": "string"}], "items": False}),
            {"x": ["a", 2]},
            ("x", "preflight"),
        ),
        (
            one({"type": "object", "patternProperties": {"^n_": {"type": "integer"}}, "additionalProperties": False}),
            {"x": {"n_a": 1, "z": 2}},
            ("x.z", "preflight"),
        ),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                **one({"type": "array", "items": [{"type": "string"}]}),
            },
            {"x": [3]},
            ("x[0]", "type"),
        ),
    ],
)
def test_left_to_the_schema(schema: dict[str, Any], args: dict[str, Any], fault: tuple[str | None, str] | None) -> None:
    check_parameters(schema, "tool 'a'")
    checked = check_against(schema, args)
    assert (checked.fault and (checked.fault.key, checked.fault.reason)) == fault


def test_what_a_model_is_shown() -> None:
    schema = {
        "properties": {
            "aliases": {"type": "array", "items": {"aliases": ["q"], "type": "string"}, "aliases": ["alias"]},
            "y": {"anyOf": [{"aliases": ["w"]}], "default": {"aliases": 1}, "enum": [{"aliases": 2}]},
        },
        "$defs": {"z": {"aliases": ["v"]}},
    }
    assert without_aliases(schema) == {
        "properties": {
            "aliases": {"type": "array", "items": {"type": "string"}},
            "y": {"anyOf": [{}], "default": {"aliases": 1}, "enum": [{"aliases": 2}]},
        },
        "$defs": {"z": {}},
    }


def test_specs_know_only_the_types_of_the_contract() -> None:
    assert set(specs_of(SCHEMA)) == {"name", "range", "tags", "rows", "share"}
    assert specs_of(SCHEMA)["name"].required
    assert specs_of(SCHEMA)["range"].properties is not None


def test_a_plain_schema_needs_no_validator() -> None:
    """jsonschema is slow to import in a browser; what the phases cover does without it."""
    program = (
        "import sys\nfrom agrun_wasm.skills.parameters import check_against\n"
        f"schema = {one(RANGE, required=True)!r}\n"
        "assert check_against(schema, {'x': {'start': 1}}).fault is None\n"
        "assert check_against(schema, {'x': {}}).fault.key == 'x.start'\n"
        "assert 'jsonschema' not in sys.modules and 'ruamel.yaml' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
