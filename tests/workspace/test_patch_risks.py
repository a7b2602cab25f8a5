"""Risk flags: when each is set, in their order, with a way out for those that block."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.workspace.edits import Edit
from agrun_wasm.workspace.patch_operations import patched
from agrun_wasm.workspace.patch_risks import RISK_FLAGS, _moved, risks

REPORT = "# Report\n\n## Results\n\nGood.\n\n## Outlook\n\nOpen."


def replace(find: str, replacement: str, **more: Any) -> dict[str, Any]:
    return {"type": "replace", "find": find, "replace": replacement, **more}


def append(content: str, **more: Any) -> dict[str, Any]:
    return {"type": "append", "content": content, **more}


def insert(heading: str, content: str) -> dict[str, Any]:
    return {"type": "insert_after_section", "heading": heading, "content": content}


def rename(line: int, text: str) -> dict[str, Any]:
    return {"type": "normalize_headings", "headings": [{"lineNumber": line, "text": text}]}


@pytest.mark.parametrize(
    ("text", "operations", "flags"),
    [
        # growth
        (REPORT, [], ["no_growth"]),
        (REPORT, [replace("Good", "Good")], ["no_growth"]),
        (REPORT, [append("")], ["no_growth"]),
        (REPORT, [append("  \n\t\n\u3000")], ["no_growth"]),
        (REPORT, [insert("Results", " ")], ["no_growth"]),
        (REPORT, [append("More.")], []),
        ("# 潮汐\n\n今天大潮。", [append("明天小潮。")], []),
        ("a", [append("🙂")], []),
        ("a", [append("…")], []),
        (REPORT, [replace("Good", "Evil")], []),
        (REPORT, [append("x"), replace("x", "")], []),
        # a flag of the operations keeps no_growth away
        (REPORT, [replace("nowhere", "x")], ["not_found"]),
        (REPORT, [replace("O", "O")], ["ambiguous"]),
        # shrinking informs
        (REPORT, [replace("Good.", "Ok.")], ["shrinks_candidate"]),
        # duplicates
        (REPORT, [append("## Results\n\nMore.")], ["structure_maybe_worse"]),
        (REPORT, [append("### Results\n\nMore.")], []),
        (REPORT, [append("# Results\n\nMore.")], []),
        (REPORT, [rename(7, "Results")], ["structure_maybe_worse"]),
        (REPORT, [insert("Results", "## Outlook\n\nx")], ["structure_maybe_worse"]),
        ("# R\n\n## A\n\n## A\n\nx", [append("y")], []),
        ("# R\n\n## A\n\n## A\n\nx", [rename(5, "B")], []),
        ("# R\n\n## A\n\n## A\n\n## B\n", [rename(5, "B")], ["structure_maybe_worse"]),
        ("# R\n\n## A\n\n## A\n", [rename(1, "S")], []),
        (REPORT, [append("```\n## Results\n```")], []),
        # headings that are lost
        (REPORT, [replace("## Results", "Results, at last")], ["structure_maybe_worse"]),
        (REPORT, [replace("## Results", "## Findings")], []),
        (REPORT, [replace("Results", "Findings")], []),
        (REPORT, [replace("## Results\n\nGood.\n\n", "")], ["structure_maybe_worse", "shrinks_candidate"]),
        (REPORT, [replace("Good.", "```\nGood.")], ["structure_maybe_worse"]),
        (REPORT, [replace("Good.", "```\nGood."), replace("\n\n## Outlook", "\n```\n\n## Outlook")], []),
        (REPORT, [replace("\n\n## Outlook", " ## Outlook")], ["structure_maybe_worse", "shrinks_candidate"]),
        (REPORT, [replace("## Results", "**Results**"), append("## New\n\nx")], ["structure_maybe_worse"]),
        (REPORT, [replace("## Results", "## Data\n\n## Results")], []),
        (REPORT, [replace("# Report\n\n", "# Report\n\nBy us.\n\n")], []),
        ("Results\n---\n\nx\n", [replace("\n---", "")], ["structure_maybe_worse", "shrinks_candidate"]),
        ("Results\n---\n\nx\n", [replace("Results\n---", "## Findings")], []),
        ("Results\n---\n\nx\n", [rename(1, "## Findings")], []),
        # jumps
        ("# G\n\n## B\n\nx", [append("### O\n\ny")], []),
        ("# G\n\n## B\n\nx", [append("#### O\n\ny")], ["structure_maybe_worse"]),
        ("x", [append("### O\n\ny")], []),
        ("# G\n\n#### B\n\nx", [append("y")], []),
        ("# G\n\n#### B\n\nx", [replace("#### B", "#### Birds")], []),
        ("# G\n\n#### B\n\nx", [replace("# G\n\n", "# G\n\n## N\n\n")], []),
        ("# G\n\n#### B\n\nx", [append("# H\n\n#### C\n\ny")], ["structure_maybe_worse"]),
        ("# G\n\n## B\n\n### C\n\nx", [rename(3, "# B and more")], []),
        ("# G\n\n## B\n\nx", [rename(3, "#### B")], []),
        ("# G\n\n## B\n\nx", [replace("## B", "#### B")], ["structure_maybe_worse"]),
        ("# G\n\n## B\n\nx", [rename(3, "#### B"), append("###### D\n\ny")], ["structure_maybe_worse"]),
        ("# G\n\nx", [append("### O\n\ny"), replace("# G\n\n", "# G\n\n## N\n\n")], []),
    ],
)
def test_flags(text: str, operations: list[dict[str, Any]], flags: list[str]) -> None:
    found = risks(patched(text, operations))
    assert list(dict.fromkeys(risk.flag for risk in found)) == flags
    for risk in found:
        assert risk.message
        assert bool(risk.way_out) == risk.blocks


@pytest.mark.parametrize("flag", [flag for flag, blocks in RISK_FLAGS.items() if blocks])
def test_every_blocking_flag_names_a_way_out(flag: str) -> None:
    examples = {
        "not_found": [replace("nowhere", "x")],
        "ambiguous": [replace("O", "x")],
        "no_growth": [append(" ")],
        "structure_maybe_worse": [append("## Results\n\nx")],
    }
    (risk,) = risks(patched(REPORT, examples[flag]))
    assert risk.flag == flag
    assert any(way in risk.way_out for way in ("another find", "append", "insert_after_section"))


def _plainly_moved(start: int, end: int, edits: list[Edit]) -> tuple[int, int]:
    for edit in reversed(edits):  # from the end, so that the places of the earlier ones hold
        if edit.end <= start:
            start, end = start + edit.growth, end + edit.growth
        elif edit.start < end:
            start, end = min(start, edit.start), max(end, edit.end) + edit.growth
    return start, end


@given(
    st.lists(st.integers(0, 30), min_size=2, max_size=8).map(sorted),
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=4),
    st.text("xy", max_size=6),
)
def test_ranges_move_as_one_edit_at_a_time_moves_them(
    places: list[int], ranges: list[tuple[int, int]], text: str
) -> None:
    edits = [Edit(a, b, text) for a, b in pairs_of(places)]
    given_ranges = [(start, start + length) for start, length in ranges]
    assert _moved(given_ranges, edits) == [_plainly_moved(start, end, edits) for start, end in given_ranges]


def pairs_of(places: list[int]) -> list[tuple[int, int]]:
    """Pairs of places, no two of which touch."""
    pairs = list(zip(places[::2], places[1::2], strict=False))
    return [pair for n, pair in enumerate(pairs) if n == 0 or pair[0] > pairs[n - 1][1]]


def test_many_edits_of_a_long_text_cost_little() -> None:
    text = "\n\n".join(f"## Part {n}\n\n" + "word " * 20 for n in range(1_500))
    (risk,) = risks(patched(text, [replace("word ", "x ", replace_all=True)]))
    assert risk.flag == "shrinks_candidate"
