"""Argument validation: phases, aliases, nesting; a property over schemas made at random."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.actions.arguments import check_args, has_type
from agrun_wasm.contracts.action import ArgSpec

RANGE = ArgSpec(
    type="object",
    properties={"start": ArgSpec(type="integer", required=True, aliases=["from"]), "end": ArgSpec(type="integer")},
)
SCHEMA = {
    "name": ArgSpec(type="string", required=True, aliases=["title", "label"]),
    "count": ArgSpec(type="integer", aliases=["n"]),
    "tags": ArgSpec(type="array", items=ArgSpec(type="string", enum=["a", "b"])),
    "range": RANGE,
    "rows": ArgSpec(type="array", items=RANGE),
}


def rewrite(alias: str, key: str, *, collision: bool = False) -> dict[str, Any]:
    return {"from": alias, "to": key, "collision": collision}


REWRITES: list[tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]] = [
    ({"title": "x"}, {"name": "x"}, [rewrite("title", "name")]),
    ({"label": "y", "title": "x"}, {"name": "x"}, [rewrite("title", "name"), rewrite("label", "name", collision=True)]),
    ({"name": None, "label": "y"}, {"name": "y"}, [rewrite("label", "name")]),
    ({"name": "x", "title": "x"}, {"name": "x"}, [rewrite("title", "name")]),
    ({"name": "x", "title": None}, {"name": "x"}, []),
    ({"name": "x", "count": None}, {"name": "x"}, []),
    ({"name": "x", "n": None}, {"name": "x"}, []),
    ({"name": "x", "extra": None}, {"name": "x", "extra": None}, []),
    ({"name": "x", "n": 0, "count": False}, {"name": "x", "count": False}, [rewrite("n", "count", collision=True)]),
    ({"name": "x", "range": {"from": 1}}, {"name": "x", "range": {"start": 1}}, [rewrite("range.from", "range.start")]),
    (
        {"name": "x", "rows": [{"start": 1}, {"from": 2}]},
        {"name": "x", "rows": [{"start": 1}, {"start": 2}]},
        [rewrite("rows[1].from", "rows[1].start")],
    ),
]


@pytest.mark.parametrize(("args", "canonical", "rewrites"), REWRITES)
def test_rewriting(args: dict[str, Any], canonical: dict[str, Any], rewrites: list[dict[str, Any]]) -> None:
    before = copy.deepcopy(args)
    checked = check_args(SCHEMA, args)
    assert checked.args == canonical
    assert checked.rewrites == rewrites
    assert args == before


FAULTS: list[tuple[dict[str, Any], str | None, str | None]] = [
    ({}, "name", "missing"),
    ({"name": " \t"}, "name", "missing"),
    ({"name": None}, "name", "missing"),
    ({"name": "x", "range": {}}, "range.start", "missing"),
    ({"name": "x", "rows": [{"start": 1}, {"end": 2}]}, "rows[1].start", "missing"),
    ({"name": "x", "count": True}, "count", "type"),
    ({"name": "x", "count": "5"}, "count", "type"),
    ({"name": "x", "count": 2.5}, "count", "type"),
    ({"name": "x", "tags": {"0": "a"}}, "tags", "type"),
    ({"name": "x", "tags": ["a", 1]}, "tags[1]", "type"),
    ({"name": "x", "tags": ["a", "c"]}, "tags[1]", "enum"),
    ({"name": "x", "range": [1]}, "range", "type"),
    ({"tags": [1], "count": "x"}, "name", "missing"),
    ({"name": 3, "tags": ["c"]}, "name", "type"),
    ({"name": "x", "count": 2.0}, None, None),
    ({"name": "x", "tags": [], "range": {"start": 0}}, None, None),
]


@pytest.mark.parametrize(("args", "key", "reason"), FAULTS)
def test_the_first_fault_in_phase_and_schema_order(args: dict[str, Any], key: str | None, reason: str | None) -> None:
    fault = check_args(SCHEMA, args).fault
    assert (fault.key, fault.reason) == (key, reason) if fault else (key, reason) == (None, None)


def test_true_is_not_one_in_an_enum_either() -> None:
    schema = {"x": ArgSpec(type="integer", enum=[1, 2])}
    assert check_args(schema, {"x": 1}).fault is None
    assert check_args({"x": ArgSpec(type="boolean", enum=[True])}, {"x": True}).fault is None
    assert check_args(schema, {"x": 3}).fault is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from(["name", "title", "label", "count", "n", "tags", "range", "other"]), JSON, max_size=6
    )
)
def test_checking_what_was_checked_changes_nothing(args: dict[str, Any]) -> None:
    checked = check_args(SCHEMA, args)
    again = check_args(SCHEMA, checked.args)
    assert again.args == checked.args
    assert again.rewrites == []
    assert again.fault == checked.fault


@given(JSON, st.sampled_from(["string", "number", "integer", "boolean", "array", "object"]))
def test_a_value_has_one_type_but_for_whole_numbers(value: Any, expected: str) -> None:
    kinds = [kind for kind in ("string", "number", "integer", "boolean", "array", "object") if has_type(value, kind)]
    assert len(kinds) <= 1 or kinds == ["number", "integer"]
    assert has_type(value, expected) == (expected in kinds)
