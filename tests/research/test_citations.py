"""Citations, their status, and what is added to a text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agrun_wasm.contracts.state import ResearchContext
from agrun_wasm.research.citations import (
    append_disclosure,
    append_sources,
    cite,
    disclosure,
    has_own_sources,
    sources_section,
)
from agrun_wasm.research.sources import add_read, add_search_results

NORTH = "https://mills.example/north"
SOUTH = "https://mills.example/south"
EAST = "https://mills.example/east"
FOLLOWUPS = '```g3-followups\n["Next?"]\n```'
DRILL = "~~~G3-Drill-Hints extra\n[]\n~~~"


def read(*urls: str, **more: Any) -> ResearchContext:
    research = ResearchContext()
    for url in urls:
        title = url.rpartition("/")[2].title() + " mill"
        add_read(research, {"ok": True, "url": url, "title": title, **more})
    return research


@pytest.mark.parametrize(
    ("pages", "text", "extra", "citations", "status", "unread", "cited_read"),
    [
        ([], "No links.", [], [], "none", [], 0),
        ([], f"See {EAST}.", [], [], "unverified", [EAST], 0),
        ([], "See.", [EAST], [], "unverified", [EAST], 0),
        ([NORTH], "Rye.", [], [NORTH], "verified", [], 0),
        ([NORTH, SOUTH], "Rye.", [], [NORTH, SOUTH], "verified", [], 0),
        ([NORTH, SOUTH], f"[s]({SOUTH}) [n]({NORTH}) [s]({SOUTH})", [], [SOUTH, NORTH], "verified", [], 2),
        ([NORTH, SOUTH], f"[s]({SOUTH})", [], [SOUTH], "verified", [], 1),
        ([NORTH, SOUTH], f"[s]({SOUTH})", [NORTH, SOUTH], [SOUTH, NORTH], "verified", [], 2),
        ([NORTH], f"[e]({EAST})", [], [NORTH], "partly_verified", [EAST], 0),
        ([NORTH], f"[e]({EAST}#a) [n]({NORTH}) [e]({EAST})", [], [NORTH], "partly_verified", [EAST + "#a"], 1),
        ([NORTH], f"[a]({NORTH}#x) [b]({NORTH}/)", [], [NORTH], "verified", [], 1),
        ([NORTH], "Rye.", [f"[North]({NORTH})"], [NORTH], "verified", [], 1),
        ([NORTH], "Rye.", [f"  {NORTH} "], [NORTH], "verified", [], 1),
        ([NORTH], "Rye.", ["The north mill"], [NORTH], "verified", [], 0),
        ([NORTH + "/?utm_source=a"], f"[n]({NORTH})", [], [NORTH + "/?utm_source=a"], "verified", [], 1),
    ],
)
def test_the_table(
    pages: list[str], text: str, extra: list[str], citations: list[str], status: str, unread: list[str], cited_read: int
) -> None:
    result = cite(text, extra, read(*pages))
    assert (result.citations, result.status, result.unread, result.cited_read) == (
        citations,
        status,
        unread,
        cited_read,
    )


def test_failed_and_found_pages_are_not_read() -> None:
    research = ResearchContext()
    add_search_results(research, [{"title": "N", "url": NORTH, "snippet": ""}])
    add_read(research, {"ok": False, "url": SOUTH, "error": "http_error"})
    add_read(research, {"ok": True, "url": EAST, "method": "HEAD"})
    result = cite(f"{NORTH} {SOUTH} {EAST}", [], research)
    assert (result.citations, result.status) == ([], "unverified")
    assert result.unread == [NORTH, SOUTH, EAST]


def test_the_address_that_redirects_led_to_is_the_page_that_was_read() -> None:
    result = cite(f"As {EAST} says.", [], read(NORTH, finalUrl=EAST))
    assert (result.citations, result.status, result.cited_read) == ([NORTH], "verified", 1)


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("Rye.", False),
        (f"Rye.\n\nSources:\n- [North]({NORTH})", True),
        (f"Rye.\n\nSources:\n- [North]({NORTH})\n\n{FOLLOWUPS}\n\n{DRILL}\n", True),
        (f"Rye.\n\n{FOLLOWUPS}", False),
        (f"Rye.\n\nSources:\n- [North]({NORTH})\n\n```json\n[]\n```", False),
    ],
)
def test_own_sources(text: str, own: bool) -> None:
    assert has_own_sources(text) is own


def test_the_section() -> None:
    research = read(NORTH, SOUTH)
    assert sources_section([SOUTH, NORTH], research) == f"Sources:\n- [South mill]({SOUTH})\n- [North mill]({NORTH})"
    assert sources_section([], research) == ""


@pytest.mark.parametrize(
    ("url", "title", "line"),
    [
        ("https://a.example/x", "", "- [https://a.example/x](https://a.example/x)"),
        ("https://a.example/x", "Two\n  lines", "- [Two lines](https://a.example/x)"),
        ("https://a.example/x", "A [draft] \\ note", r"- [A \[draft\] \\ note](https://a.example/x)"),
        ("https://a.example/x_(y)", "T", "- [T](https://a.example/x_(y))"),
        ("https://a.example/x_)", "T", "- [T](https://a.example/x_%29)"),
        ("https://a.example/x y", "T", "- [T](https://a.example/x%20y)"),
    ],
)
def test_lines_of_the_section_are_links_whatever_the_title(url: str, title: str, line: str) -> None:
    research = ResearchContext()
    add_read(research, {"ok": True, "url": url, "title": title})
    section = sources_section([url], research)
    assert section == f"Sources:\n{line}"
    assert has_own_sources(append_sources("Rye.", section))


SECTION = f"Sources:\n- [North mill]({NORTH})"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Rye.", f"Rye.\n\n{SECTION}"),
        ("Rye.\n\n\n", f"Rye.\n\n{SECTION}"),
        ("Rye.  \nOak.  \n", f"Rye.  \nOak.  \n\n{SECTION}"),
        (f"Rye.\n\n{FOLLOWUPS}", f"Rye.\n\n{SECTION}\n\n{FOLLOWUPS}"),
        (f"Rye.\n\n{FOLLOWUPS}\n\n{DRILL}", f"Rye.\n\n{SECTION}\n\n{FOLLOWUPS}\n\n{DRILL}"),
        (f"Rye.\n{FOLLOWUPS}", f"Rye.\n\n{SECTION}\n\n{FOLLOWUPS}"),
        (FOLLOWUPS, f"{SECTION}\n\n{FOLLOWUPS}"),
        (f"{FOLLOWUPS}\n\nRye.", f"{FOLLOWUPS}\n\nRye.\n\n{SECTION}"),
        ("", SECTION),
    ],
)
def test_sources_stand_before_trailing_blocks(text: str, expected: str) -> None:
    assert append_sources(text, SECTION) == expected


def test_the_disclosure_stands_before_sources() -> None:
    sentence = disclosure(2, 4)
    assert sentence.count(".") == 1
    assert "2" in sentence
    assert "4" in sentence
    text = append_sources(append_disclosure(f"Rye.\n\n{FOLLOWUPS}", sentence), SECTION)
    assert text == f"Rye.\n\n{sentence}\n\n{SECTION}\n\n{FOLLOWUPS}"
    assert append_disclosure(f"Rye.\n\n{SECTION}\n\n{FOLLOWUPS}", sentence) == text


_LINES = st.sampled_from(
    [
        "Rye.",
        "",
        "",
        "  ",
        "- [a](https://a.example)",
        "Sources:",
        "```g3-followups",
        "```",
        "~~~",
        "## Rye",
        "\tx",
        "a\u3000",
    ]
)


@given(st.lists(_LINES).map("\n".join) | st.text())
@example(f"Rye.\n\n{FOLLOWUPS}\n\n\n{DRILL}")
def test_adding_changes_blank_lines_at_the_seams_only(text: str) -> None:
    for added in (append_sources(text, SECTION), append_disclosure(text, disclosure(1, 2))):
        addition = SECTION if SECTION in added else disclosure(1, 2)
        before, _, after = added.rpartition(addition) if text.count(addition) == 0 else (text, "", "")
        kept = [line for line in (before + after).split("\n") if line.strip()]
        assert kept == [line for line in text.split("\n") if line.strip()]
        assert append_sources(text, "") == text
