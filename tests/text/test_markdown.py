"""markdown: headings, sections, counts, and insertions that touch nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.text.markdown import (
    Heading,
    SectionError,
    count_words,
    find_section,
    headings,
    insert_after_section,
    section_end,
    structure,
)

HEADINGS: list[tuple[str, list[tuple[int, str, int, int, bool]]]] = [
    ("", []),
    ("text", []),
    ("# A\n\n## B ##\n", [(1, "A", 1, 1, False), (2, "B", 3, 3, False)]),
    ("## J#\n", [(2, "J#", 1, 1, False)]),
    ("##\n", [(2, "", 1, 1, False)]),
    ("#A\n####### B\n", []),
    ("   # A\n    # B\n", [(1, "A", 1, 1, False)]),
    ("A\n===\n\nB\n---\n\n---\n\nC\n", [(1, "A", 1, 2, True), (2, "B", 4, 5, True)]),
    ("two\nlines\n---\n", [(2, "two\nlines", 1, 3, True)]),
    ("```sh\n# a\n```\n# B\n", [(1, "B", 4, 4, False)]),
    ("~~~\n# a\n```\n# b\n", []),
    ("    # code\n", []),
    ("<!--\n# a\n-->\n\n# B\n", [(1, "B", 5, 5, False)]),
    ("> # quoted\n\n- # listed\n\n# B\n", [(1, "B", 5, 5, False)]),
    ("| a |\n| - |\n| # b |\n", []),
    ("# A\r\n\r\n## B\r\n", [(1, "A", 1, 1, False), (2, "B", 3, 3, False)]),
    ("# *A* `b` [c](d)\n", [(1, "*A* `b` [c](d)", 1, 1, False)]),
    ("para\n# A\n", [(1, "A", 2, 2, False)]),
]


@pytest.mark.parametrize(("text", "found"), HEADINGS, ids=range(len(HEADINGS)))
def test_headings(text: str, found: list[tuple[int, str, int, int, bool]]) -> None:
    assert headings(text) == [Heading(*row) for row in found]


STRUCTURES: list[tuple[str, tuple[int, int, int]]] = [
    ("", (0, 0, 0)),
    ("# Log\n\n## Morning\n", (2, 0, 2)),
    ("# R\n\n## A\n\n## A\n", (3, 1, 2)),
    ("# R\n\n## A\n\n## A\n\n## A\n", (4, 2, 2)),
    ("# R\n\n## A\n\n### X\n\n## B\n\n### X\n", (5, 0, 3)),
    ("# A\n\n# A\n", (2, 1, 1)),
    ("# A\n\n## A\n", (2, 0, 2)),
    ("## A\n\n# B\n\n## A\n", (3, 0, 2)),
    ("# R\n\n##### deep\n", (2, 0, 5)),
]


@pytest.mark.parametrize(("text", "counts"), STRUCTURES, ids=range(len(STRUCTURES)))
def test_structure(text: str, counts: tuple[int, int, int]) -> None:
    assert structure(text) == dict(zip(("headings", "duplicates", "maxLevel"), counts, strict=True))


WORDS: list[tuple[str, int]] = [
    ("", 0),
    ("# Log\n\n## Morning\n\nCalm sea, 3 boats.", 6),
    ("one-two three_four don't 3.5", 8),
    ("今天大潮。", 4),
    ("潮汐 tables 2026年", 5),
    ("きょうは、コーヒー", 8),
    ("漢・字〜", 2),
    ("Größe Ünï", 2),
    ("e\u0301te\u0301 cafe\u0301", 2),
    ("हिन्दी भाषा", 2),
    ("Привет, мир!", 2),
    ("--- *** ###", 0),
    ("\U00020000\U0001f30a", 1),
]


@pytest.mark.parametrize(("text", "words"), WORDS, ids=range(len(WORDS)))
def test_count_words(text: str, words: int) -> None:
    assert count_words(text) == words


DOCUMENT = (
    "# Guide\n\n## Setup ##\n\n```sh\n# install\n```\n\nDone.  \n\n### More\n\nx\n \n\n"
    "Use\n---\n\n## **Bold** end\nlast"
)

INSERTED: list[tuple[str, str, str]] = [
    ("before a setext heading", "More", "### More\n\nx\n\nNEW\n \n\nUse\n---"),
    ("subsections included", "Setup", "x\n\nNEW\n \n\nUse"),
    ("with its marks", "## Setup ##", "x\n\nNEW\n \n\nUse"),
    ("setext", "Use", "Use\n---\n\nNEW\n\n## **Bold**"),
    ("setext by level", "## Use", "---\n\nNEW\n\n##"),
    ("emphasis looked past", "Bold end", "last\n\nNEW"),
    ("the whole document", "Guide", "last\n\nNEW"),
]


@pytest.mark.parametrize(("heading", "part"), [row[1:] for row in INSERTED], ids=[row[0] for row in INSERTED])
def test_insert_after_section(heading: str, part: str) -> None:
    changed = insert_after_section(DOCUMENT, heading, "NEW")
    assert part in changed
    assert changed.replace("\n\nNEW", "", 1) == DOCUMENT


EDGES: list[tuple[str, str, str, str, str]] = [
    ("# D\n\n## Monday", "Monday", "rain", "\n\n", "# D\n\n## Monday\n\nrain"),
    ("# D\n\n## Monday\n", "Monday", "rain", "\n\n", "# D\n\n## Monday\n\nrain\n"),
    ("## A\na\n## B\n", "A", "n", "\n", "## A\na\nn\n\n## B\n"),
    ("## A\n\na\n\nB\n---\n", "A", "n", "\n\n", "## A\n\na\n\nn\n\nB\n---\n"),
    ("## A\n## B\n", "A", "n\n", "\n\n", "## A\n\nn\n\n## B\n"),
    ("## A\n\na  \n\n## B\n", "A", "n", "", "## A\n\na  n\n\n## B\n"),
    ("## A\n\na\n\n\n\n## B\n", "A", "n", "\n\n", "## A\n\na\n\nn\n\n\n\n## B\n"),
    ("## A\r\n\r\na\r\n\r\n## B\r\n", "A", "n", "\r\n\r\n", "## A\r\n\r\na\r\n\r\nn\r\n\r\n## B\r\n"),
]


@pytest.mark.parametrize(("text", "heading", "content", "separator", "changed"), EDGES, ids=range(len(EDGES)))
def test_insert_edges(text: str, heading: str, content: str, separator: str, changed: str) -> None:
    assert insert_after_section(text, heading, content, separator) == changed


FAULTS: list[tuple[str, str, str, str]] = [
    ("# A\n", "B", "not_found", "'B'"),
    ("# A\n", "## A", "not_found", "'## A'"),
    ("# A\n", "a", "not_found", "'a'"),
    ("```\n# A\n```\n", "A", "not_found", "'A'"),
    ("# T\n\n## Day\n\n## Food\n\n## Day\n", "Day", "ambiguous", "2 headings 'Day', on lines 3, 7"),
    ("# Day\n\n## Day\n", "Day", "ambiguous", "lines 1, 3"),
]


@pytest.mark.parametrize(("text", "heading", "reason", "words"), FAULTS, ids=range(len(FAULTS)))
def test_find_section_faults(text: str, heading: str, reason: str, words: str) -> None:
    with pytest.raises(SectionError) as caught:
        find_section(text, heading)
    assert caught.value.reason == reason
    assert words in caught.value.message


def test_a_level_settles_which_heading_is_meant() -> None:
    text = "# Day\n\n## Day\n\nx\n"
    assert find_section(text, "## Day").index == 1
    assert find_section(text, "# Day").index == 0
    assert section_end(text, 0) == len(text)


LINES = ["# A", "## B", "### C", "text", "", "```", "X", "---", "> # q", "- item", "    # code", "  "]


@given(st.lists(st.sampled_from(LINES), max_size=16).map("\n".join), st.data())
def test_an_insertion_leaves_every_other_byte(text: str, data: st.DataObject) -> None:
    found = headings(text)
    names = [heading.text for heading in found if sum(other.text == heading.text for other in found) == 1]
    if not names:
        return
    name = data.draw(st.sampled_from(names))
    changed = insert_after_section(text, name, "NEW WORDS")
    place = changed.index("\n\nNEW WORDS")
    rest = changed[place + len("\n\nNEW WORDS") :]
    assert text[:place] == changed[:place]
    assert rest.lstrip("\n") == text[place:].lstrip("\n")
    assert count_words(changed) == count_words(text) + 2
