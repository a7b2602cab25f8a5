"""What each operation does to a text, when it is malformed, and the sample cases of area f-patch."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.workspace.edits import edited
from agrun_wasm.workspace.patch_operations import patched
from agrun_wasm.workspace.patch_risks import risks

REPORT = "# Report\n\n## Results\n\nGood.\n\n## Results\n\nMore."


def replace(find: str, replacement: str, **more: Any) -> dict[str, Any]:
    return {"type": "replace", "find": find, "replace": replacement, **more}


def headings_op(*entries: tuple[Any, Any]) -> dict[str, Any]:
    return {"type": "normalize_headings", "headings": [{"lineNumber": line, "text": text} for line, text in entries]}


@pytest.mark.parametrize(
    ("text", "operations", "after"),
    [
        ("a.b(c)* aXb", [replace("a.b(c)*", r"$1 \1 $& \g<0> $$")], r"$1 \1 $& \g<0> $$ aXb"),
        ("eins, eins", [replace("eins", "eins und eins", replace_all=True)], "eins und eins, eins und eins"),
        ("aaa", [replace("aa", "b", replace_all=True)], "ba"),
        ("one\ntwo\nthree", [replace("one\r\ntwo", "1\r\n2")], "1\n2\nthree"),
        ("abc", [replace("b", "")], "ac"),
        ("abc", [replace("a", "b"), replace("bbc", "done")], "done"),
        ("A.", [{"type": "append", "content": "B."}], "A.\n\nB."),
        ("A.", [{"type": "append", "content": "B.", "separator": " "}], "A. B."),
        ("A.", [{"type": "append", "content": "B.", "separator": None}], "A.\n\nB."),
        (
            "# A\n\n# B\n",
            [{"type": "insert_after_section", "heading": "A", "content": "x", "separator": "\n"}],
            "# A\nx\n\n# B\n",
        ),
        (REPORT, [headings_op((7, "Later"))], REPORT[:29] + "## Later\n\nMore."),
        (REPORT, [headings_op((7, "### Later"))], REPORT[:29] + "### Later\n\nMore."),
        (REPORT, [headings_op((7.0, "Later"))], REPORT[:29] + "## Later\n\nMore."),
        (REPORT, [headings_op((7, "B"), (3, "A"))], "# Report\n\n## A\n\nGood.\n\n## B\n\nMore."),
        ("# R", [headings_op((1, "#hash"))], "# #hash"),
        ("Results\n-------\n\nOne.", [headings_op((1, "Later"))], "Later\n-------\n\nOne."),
        ("Results\n-------\n\nOne.", [headings_op((1, "# Later"))], "# Later\n\nOne."),
        ("Long\nname\n===\n", [headings_op((1, "Short"))], "Short\n===\n"),
        ("## Plan ##\n", [headings_op((1, "New"))], "## New\n"),
    ],
)
def test_done(text: str, operations: list[dict[str, Any]], after: str) -> None:
    result = patched(text, operations)
    assert result.faults == ()
    assert result.text == after
    assert len(result.steps) == len(operations)


_SOMETHING = replace("More", "Less")


@pytest.mark.parametrize(
    ("operation", "flag", "mentions"),
    [
        (replace("nowhere", "x"), "not_found", "nowhere"),
        (replace("good", "x"), "not_found", "letter case"),
        (replace("Good. More", "x"), "not_found", "not in the file"),
        (replace("Results  Good", "x"), "not_found", "not in the file"),
        (replace("#  Report", "x"), "not_found", "white space"),
        (replace("", "x"), "not_found", "find"),
        ({"type": "replace", "content": "# New"}, "not_found", "find"),
        ({"type": "replace", "replace": "x"}, "not_found", "find"),
        ({"type": "replace", "find": "Good"}, "not_found", "replace"),
        (replace("Results", "x"), "ambiguous", "2 times (lines 3, 7)"),
        ({"type": "insert_after_section", "heading": "Outlook", "content": "x"}, "not_found", "Outlook"),
        ({"type": "insert_after_section", "heading": "Results", "content": "x"}, "ambiguous", "2 headings"),
        ({"type": "insert_after_section", "content": "x"}, "not_found", "heading"),
        ({"type": "append"}, "not_found", "content"),
        ({"type": "append", "content": "x", "separator": 3}, "not_found", "separator"),
        (headings_op((2, "x")), "not_found", "line 2"),
        (headings_op((5, "x")), "not_found", "line 5"),
        (headings_op((0, "x")), "not_found", "line 0"),
        (headings_op((-1, "x")), "not_found", "line -1"),
        (headings_op((99, "x")), "not_found", "line 99"),
        (headings_op((3, "x"), (3, "y")), "not_found", "twice"),
        (headings_op((3, "")), "not_found", "text"),
        (headings_op((3, "## ")), "not_found", "text"),
        (headings_op((3, "a\nb")), "not_found", "text"),
        (headings_op((True, "x")), "not_found", "lineNumber"),
        (headings_op(("3", "x")), "not_found", "lineNumber"),
        (headings_op((3.5, "x")), "not_found", "lineNumber"),
        ({"type": "normalize_headings", "headings": []}, "not_found", "headings"),
        ({"type": "normalize_headings", "headings": ["x"]}, "not_found", "lineNumber"),
        ({"type": "normalize_headings"}, "not_found", "headings"),
        ({"type": "replce", "find": "Good", "replace": "x"}, "not_found", "did you mean 'replace'"),
        ({"type": "delete"}, "not_found", "delete"),
        ({"find": "Good", "replace": "x"}, "not_found", "type"),
        ({}, "not_found", "type"),
        ("append", "not_found", "type"),
        (None, "not_found", "type"),
    ],
)
def test_faults(operation: Any, flag: str, mentions: str) -> None:
    for operations in ([operation], [_SOMETHING, operation], [operation, _SOMETHING]):
        result = patched(REPORT, operations)
        assert result.text == REPORT
        assert result.steps == ()
        (fault,) = result.faults
        assert fault.flag == flag
        assert mentions in fault.message
        assert fault.way_out


def test_several_faults_are_all_told() -> None:
    result = patched(REPORT, [replace("nowhere", "x"), replace("Results", "x")])
    assert [fault.flag for fault in result.faults] == ["not_found", "ambiguous"]


def test_a_find_that_is_only_spelled_otherwise_is_told_so() -> None:
    (fault,) = patched(unicodedata.normalize("NFD", "Le café ferme."), [replace("café ferme", "x")]).faults
    assert "Unicode" in fault.message


def test_overlapping_places_are_more_than_one() -> None:
    (fault,) = patched("aaa", [replace("aa", "b")]).faults
    assert fault.flag == "ambiguous"


_WORDS = st.sampled_from(["# A", "## B", "a", "", "```", "b b", "A\n===", "\n"])
_TEXTS = st.lists(_WORDS).map("\n".join)
_OPERATIONS = st.one_of(
    st.builds(replace, st.text("ab# \n"), st.text("ab# \n"), replace_all=st.booleans()),
    st.builds(lambda content: {"type": "append", "content": content}, _TEXTS),
    st.builds(
        lambda heading, content: {"type": "insert_after_section", "heading": heading, "content": content},
        st.sampled_from(["A", "B", "C"]),
        _TEXTS,
    ),
    st.builds(lambda line, text: headings_op((line, text)), st.integers(0, 9), st.sampled_from(["A", "## B", "x"])),
)


@given(_TEXTS, st.lists(_OPERATIONS, max_size=4))
def test_edits_lead_from_step_to_step(text: str, operations: list[dict[str, Any]]) -> None:
    result = patched(text, operations)
    current = text
    for step in result.steps:
        assert step.before == current
        assert edited(step.before, step.edits) == step.after
        current = step.after
    assert result.text == current
    risks(result)
    assert patched(text, operations).text == result.text


#: suggested names of the cases -> flags of 2.11
_FLAGS = {"invalid_operation": "not_found", "not_a_heading": "not_found"}


def _samples() -> Iterator[Any]:
    lines = (Path(__file__).parents[1] / "cases" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    for case in map(json.loads, lines):
        if case["area"] == "f-patch":
            inputs, expect = case["input"].get("each", [case["input"]]), case["expect"]
            expects = expect["each"] if "each" in expect else [expect] * len(inputs)
            for number, (item, expected) in enumerate(zip(inputs, expects, strict=True)):
                yield pytest.param(item, expected, id=f"{case['id']}-{case['kind']}-{number}")


@pytest.mark.parametrize(("item", "expect"), list(_samples()))
def test_cases(item: dict[str, Any], expect: dict[str, Any]) -> None:
    result = patched(item["text"].replace("\r\n", "\n"), [item["op"]])
    found = [risk for risk in risks(result) if risk.blocks]
    assert any(_fits(choice, result.text, found) for choice in expect.get("accept", [expect])), (result, found)


def _fits(expect: dict[str, Any], text: str, found: list[Any]) -> bool:
    if "error" in expect:
        told = " ".join(f"{risk.message} {risk.way_out}" for risk in found)
        flag = _FLAGS.get(expect["error"], expect["error"])
        return any(risk.flag == flag for risk in found) and all(m in told for m in expect.get("mentions", []))
    wanted: dict[str, Any] = expect["ok"]
    if found:
        return False
    if "text" in wanted:
        return bool(text == wanted["text"].replace("\r\n", "\n"))
    return bool([line for line in text.split("\n") if line.strip()] == wanted["nonblank_lines"])
