"""Tool results: the envelope, their kinds, and when one is the answer."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from agrun_wasm.skills.final import DirectFinal, Skipped, direct_final, direct_final_text, result_kind_of
from agrun_wasm.skills.tool_action import tool_output, tool_result_ok
from agrun_wasm.skills.tools import SkillTool


def tool(kind: str | None = None, *, may_finalize: bool = True) -> SkillTool:
    return SkillTool("t", "T.", {"type": "object"}, lambda: None, kind, may_finalize)


def output(result: Any, kind: str | None = None) -> dict[str, Any]:
    return tool_output("s", tool(kind), {"a": 1}, result)


class Row(BaseModel):
    n: int
    resultKind: str = "lookup"  # noqa: N815


@pytest.mark.parametrize(
    ("result", "declared", "expected"),
    [
        ({"x": 1}, None, {"result": {"x": 1}}),
        ({"x": 1}, "lookup", {"result": {"x": 1}, "resultKind": "lookup"}),
        ({"x": 1, "resultKind": "partial"}, "final", {"result": {"x": 1}, "resultKind": "partial"}),
        ({"resultKind": None}, "final", {"result": {}, "resultKind": "final"}),
        ({"_meta": {"rows": 1}, "x": 1}, None, {"result": {"x": 1}, "_meta": {"rows": 1}}),
        ({"_meta": {}}, None, {"result": {}, "_meta": {}}),
        ([1, 2], "lookup", {"result": [1, 2], "resultKind": "lookup"}),
        ("text", None, {"result": "text"}),
        (None, None, {"result": None}),
        (Row(n=1), None, {"result": {"n": 1}, "resultKind": "lookup"}),
    ],
)
def test_envelope(result: Any, declared: str | None, expected: dict[str, Any]) -> None:
    base = {"kind": "agent_skill_tool_result", "skill": "s", "tool": "t", "args": {"a": 1}}
    assert output(result, declared) == {**base, **expected}


def test_the_tools_own_value_is_not_changed() -> None:
    value = {"resultKind": "final", "_meta": 1, "x": 2}
    output(value)
    assert value == {"resultKind": "final", "_meta": 1, "x": 2}


@pytest.mark.parametrize(
    ("value", "kind", "ok"),
    [
        (output({"resultKind": "lookup"}), "lookup", True),
        (output({"ok": False}), None, False),
        (output({"ok": 0}), None, True),
        (output([]), None, True),
        ({"kind": "other", "resultKind": "final"}, None, False),
        ("text", None, False),
        (None, None, False),
    ],
)
def test_kind_and_ok(value: Any, kind: str | None, ok: bool) -> None:
    assert (result_kind_of(value), tool_result_ok(value)) == (kind, ok)


FINAL = {"resultKind": "final", "markdown": "# A"}


@pytest.mark.parametrize(
    ("value", "by", "expected"),
    [
        (output({"markdown": "# A"}), tool(), None),
        (output({"resultKind": "partial", "markdown": "# A"}), tool(), None),
        ({"kind": "host", "resultKind": "final"}, tool(), None),
        (output(FINAL), tool(may_finalize=False), Skipped("may_not_finalize")),
        (output(FINAL), None, Skipped("may_not_finalize")),
        (output({**FINAL, "ok": False}), tool(), Skipped("not_ok")),
        (output({"resultKind": "final"}), tool(), Skipped("missing_markdown")),
        (output({"resultKind": "final", "markdown": "  \n"}), tool(), Skipped("missing_markdown")),
        (output({"resultKind": "final", "markdown": ["# A"]}), tool(), Skipped("missing_markdown")),
        (output(["# A"], "final"), tool(), Skipped("missing_markdown")),
        (output(FINAL), tool(), DirectFinal("# A", None, [], [], [])),
        (output({"markdown": "# A", "ok": None}, "final"), tool(), DirectFinal("# A", None, [], [], [])),
    ],
)
def test_direct_final(value: Any, by: SkillTool | None, expected: DirectFinal | Skipped | None) -> None:
    assert direct_final(value, by) == expected


@pytest.mark.parametrize(
    ("extra", "fields"),
    [
        ({"provenance": ""}, ["provenance"]),
        ({"provenance": ["log"]}, ["provenance"]),
        ({"provenance": None, "followups": None}, []),
        ({"followups": "Which?"}, ["followups"]),
        ({"followups": ["a", 1]}, ["followups"]),
        ({"followups": []}, []),
        ({"drill_hints": {"label": "x"}}, ["drill_hints"]),
        ({"drill_hints": [{"label": "x"}]}, ["drill_hints"]),
        ({"drill_hints": [{"match_header": "a", "label": " ", "prompt": "b"}]}, ["drill_hints"]),
        ({"provenance": 1, "followups": 2, "drill_hints": 3}, ["provenance", "followups", "drill_hints"]),
    ],
)
def test_parts_of_a_wrong_type_are_left_out(extra: dict[str, Any], fields: list[str]) -> None:
    final = direct_final(output({**FINAL, **extra}), tool())
    assert isinstance(final, DirectFinal)
    assert [problem["field"] for problem in final.problems] == fields
    assert direct_final_text(final) == "# A"


def test_text() -> None:
    hint = {"match_header": "A", "label": "L", "prompt": "P", "more": [1]}
    final = DirectFinal("\n \n  # A\n\n```g3-followups\n[]\n```\n\n\n", "_log_\n", ["Hoe één?", '"次"'], [hint], [])
    assert direct_final_text(final) == (
        "  # A\n\n```g3-followups\n[]\n```\n\n_log_\n\n"
        '```g3-followups\n["Hoe één?","\\"次\\""]\n```\n\n'
        '```g3-drill-hints\n[{"match_header":"A","label":"L","prompt":"P","more":[1]}]\n```'
    )
