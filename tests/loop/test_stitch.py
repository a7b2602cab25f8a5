"""Stitched text: tables for its form, and properties that hold for any Markdown a model may write."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agrun_wasm.contracts.decision import Stitch
from agrun_wasm.loop.stitch import SectionText, clean_part, failure_comment, stitch, stitch_problem
from agrun_wasm.text.blocks import join, trim

HINT = {"match_header": "Kunde", "label": "öffnen", "prompt": "zeig"}

#: sections, stitch, intro, outro -> the text
TEXTS: list[tuple[list[SectionText], dict[str, Any] | None, str | None, str | None, str]] = [
    ([SectionText(None, "a"), SectionText("## B", "b")], None, None, None, "## Section 1\n\na\n\n## B\n\nb"),
    ([SectionText("## A", "## A  \n\na")], None, "hi", "bye", "hi\n\n## A\n\na\n\nbye"),
    ([SectionText("## A", "## A")], None, None, None, "## A"),
    ([SectionText("## A", "  ## A\na")], None, None, None, "## A\n\n  ## A\na"),
    ([SectionText("## A", "a\n## A\nb")], None, None, None, "## A\n\na\n## A\nb"),
    ([SectionText("## A", "", "boom")], None, None, None, "## A\n\n<!-- section failed: boom -->"),
    ([SectionText("T", "a")], {"provenance": "\n\nfrom X\n"}, None, None, "T\n\na\n\nfrom X"),
    ([SectionText("T", "a")], {"followups": [], "drill_hints": []}, None, None, "T\n\na"),
    (
        [SectionText("T", "a")],
        {"followups": ["Größe?"], "drill_hints": [{**HINT, "z": 1}]},
        None,
        None,
        (
            'T\n\na\n\n```g3-followups\n["Größe?"]\n```\n\n```g3-drill-hints\n'
            '[{"match_header":"Kunde","label":"öffnen","prompt":"zeig","z":1}]\n```'
        ),
    ),
    ([SectionText("T", "  indented\n\n\nkept")], None, None, None, "T\n\n  indented\n\n\nkept"),
]


@pytest.mark.parametrize(("sections", "around", "intro", "outro", "text"), TEXTS)
def test_the_form(
    sections: list[SectionText], around: dict[str, Any] | None, intro: str | None, outro: str | None, text: str
) -> None:
    assert stitch(sections, None if around is None else Stitch(**around), intro, outro) == text


PROBLEMS: list[tuple[dict[str, Any], str]] = [
    ({"intro_prompt": 5}, "intro_prompt"),
    ({"outro_prompt": []}, "outro_prompt"),
    ({"provenance": {}}, "provenance"),
    ({"followups": "x"}, "followups"),
    ({"followups": ["x", None]}, "followups"),
    ({"drill_hints": {}}, "drill_hints"),
    ({"drill_hints": ["x"]}, "drill_hints[0]"),
    ({"drill_hints": [HINT, {**HINT, "label": " "}]}, "drill_hints[1]"),
    *(({"drill_hints": [{k: v for k, v in HINT.items() if k != key}]}, key) for key in HINT),
    *(({"drill_hints": [{**HINT, key: 5}]}, key) for key in HINT),
]


@pytest.mark.parametrize(("given_", "named"), PROBLEMS)
def test_a_stitch_that_is_none_is_named(given_: dict[str, Any], named: str) -> None:
    problem = stitch_problem(Stitch(**given_))
    assert problem is not None
    assert named in problem


@pytest.mark.parametrize(
    "fine", [{}, {"followups": [], "drill_hints": []}, {"followups": [""]}, {"drill_hints": [HINT]}]
)
def test_a_stitch_that_is_one_passes(fine: dict[str, Any]) -> None:
    assert stitch_problem(Stitch(**fine)) is None
    assert stitch_problem(None) is None


lines = st.sampled_from(
    [
        "text",
        "",
        "  ",
        "## A",
        "```",
        "````",
        "~~~",
        "```g3-followups",
        "~~~ G3-Drill-Hints x",
        "    ```g3-followups",
        "[[m]]",
        "```py",
    ]
)
markdown = st.one_of(st.text(), st.lists(lines, max_size=12).map("\n".join))


def is_subsequence(part: str, whole: str) -> bool:
    rest = iter(whole.split("\n"))
    return all(line in rest for line in part.split("\n"))


@settings(deadline=None)
@given(markdown)
def test_cleaning_takes_lines_away_and_changes_none(text: str) -> None:
    cleaned = clean_part(text)
    assert cleaned == "" or is_subsequence(cleaned, text)


@settings(deadline=None)
@given(markdown)
def test_a_text_without_the_two_words_keeps_every_byte(text: str) -> None:
    if "g3-" not in text.lower():
        assert clean_part(text) == trim(text)


@settings(deadline=None)
@given(markdown)
def test_cleaning_once_is_enough(text: str) -> None:
    # A removed block can bring two halves of a fence together only across a blank line that stays.
    assert trim(clean_part(text)) == clean_part(text)


@settings(deadline=None)
@given(st.lists(st.tuples(st.none() | st.text(min_size=1), st.text()), min_size=1, max_size=4), st.none() | st.text())
def test_nothing_a_section_says_is_lost(parts: list[tuple[str | None, str]], intro: str | None) -> None:
    text = stitch([SectionText(title, body) for title, body in parts], None, intro, None)
    position = text.find(trim(intro or ""))
    for number, (title, body) in enumerate(parts, 1):
        heading = title if title is not None else f"## Section {number}"
        first, newline, rest = body.partition("\n")
        if first.rstrip() == heading.rstrip():
            body = rest if newline else ""
        for part in (heading, body):
            position = text.find(trim(part), position)
            assert position >= 0


@settings(deadline=None)
@given(st.text())
def test_a_reason_never_ends_its_comment(reason: str) -> None:
    comment = failure_comment(reason)
    assert re.fullmatch(r"<!-- section failed: .* -->", comment)
    inner = comment[len("<!--") : -len("-->")]
    assert ">" not in inner
    assert "--" not in inner
    assert len(comment.splitlines()) == 1


@settings(deadline=None)
@given(st.lists(st.text(), max_size=5))
def test_parts_are_joined_by_exactly_one_blank_line(parts: list[str]) -> None:
    text = join(parts)
    kept = [trimmed for part in parts if (trimmed := trim(part))]
    assert text == "\n\n".join(kept)
    assert trim(text) == text


@settings(deadline=None)
@given(st.lists(st.text()))
def test_followups_come_back_as_they_were(followups: list[str]) -> None:
    text = stitch([SectionText("T", "a")], Stitch(followups=followups), None, None)
    if followups:
        block = text.partition("```g3-followups\n")[2].removesuffix("\n```")
        assert json.loads(block) == followups
        assert "\n" not in block
    else:
        assert "g3-" not in text
