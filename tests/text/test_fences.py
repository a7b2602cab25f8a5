"""fences: which blocks go, and that nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agrun_wasm.text.fences import scan_fences, strip_fenced, trailing_fences

WORDS = frozenset({"g3-followups", "g3-drill-hints"})
BLOCK = '```g3-followups\n["a"]\n```\n'

STRIPPED: list[tuple[str, str, str]] = [
    ("one blank line of two goes", f"Six.\n\n{BLOCK}\nRoman.", "Six.\n\nRoman."),
    ("two blocks", f"Six.\n\n{BLOCK}\nRoman.\n\n{BLOCK}", "Six.\n\nRoman.\n"),
    ("adjacent blocks", f"Six.\n\n{BLOCK}{BLOCK}\nRoman.", "Six.\n\nRoman."),
    ("blocks with one blank between", f"Six.\n\n{BLOCK}\n{BLOCK}\nRoman.", "Six.\n\nRoman."),
    ("no blank line at all", f"Six.\n{BLOCK}Roman.", "Six.\nRoman."),
    ("more blank lines stay", f"Six.\n\n\n{BLOCK}\n\nRoman.", "Six.\n\n\n\nRoman."),
    ("at the start", f"{BLOCK}\nRoman.", "Roman."),
    ("alone", BLOCK, ""),
    ("alone without the last line break", BLOCK[:-1], ""),
    ("blank line with blanks in it", f"Six.\n \t\n{BLOCK}Roman.", "Six.\nRoman."),
    ("any case, tildes, longer fence", 'A.\n\n~~~~G3-Followups\n["a"]\n~~~\n["b"]\n~~~~\n\nB.', "A.\n\nB."),
    ("a shorter inner fence does not close", "A.\n\n`````G3-DRILL-HINTS\n```\n[1]\n`````", "A.\n"),
    ("unclosed to the end", "A.\n\n```g3-followups\n[1,\n\nB.", "A.\n"),
    ("three spaces in", "A.\n\n   ```g3-followups\n[]\n  ```  \nB.", "A.\nB."),
    ("four spaces in is no fence", "A.\n\n    ```g3-followups\n[]\n", "A.\n\n    ```g3-followups\n[]\n"),
    ("four spaces do not close", "```g3-followups\n[]\n    ```\nB.", ""),
    ("further words of the info string", "A.\n\n``` g3-followups json\n[]\n```\nB.", "A.\nB."),
    ("look-alikes stay", "```g3-followups-old\n[]\n```\n", "```g3-followups-old\n[]\n```\n"),
    ("info word second", "```json g3-followups\n[]\n```\n", "```json g3-followups\n[]\n```\n"),
    ("inside another fence", f"````md\n{BLOCK}````\n", f"````md\n{BLOCK}````\n"),
    ("inside a tilde fence", f"~~~\n{BLOCK}~~~\n", f"~~~\n{BLOCK}~~~\n"),
    ("after an unclosed other fence", "```py\nx\n~~~g3-followups\n[]\n~~~\n", "```py\nx\n~~~g3-followups\n[]\n~~~\n"),
    ("a backtick in the info string is no fence", "```g3-followups`\n[]\n", "```g3-followups`\n[]\n"),
    ("the other mark does not close", "```g3-followups\n~~~\nB.\n```\nC.", "C."),
    ("a closer with words does not close", "```g3-followups\n```json\nB.\n```\nC.", "C."),
    ("CRLF", "A.\r\n\r\n```g3-followups\r\n[]\r\n```\r\n\r\nB.\r\n", "A.\r\n\r\nB.\r\n"),
    ("markers and code blanks", "[[x]]\n\n```py\na\n\n\n\nb\n```\n\n" + BLOCK, "[[x]]\n\n```py\na\n\n\n\nb\n```\n"),
    ("two marks only", "``g3-followups\n[]\n``\n", "``g3-followups\n[]\n``\n"),
]


@pytest.mark.parametrize(("text", "left"), [row[1:] for row in STRIPPED], ids=[row[0] for row in STRIPPED])
def test_strip_fenced(text: str, left: str) -> None:
    assert strip_fenced(text, WORDS) == left


TRAILING: list[tuple[str, str]] = [
    ("A.\n\n", BLOCK),
    ("A.\n\n", BLOCK + "\n\n" + BLOCK + " \n"),
    ("A.\n\n", "~~~g3-drill-hints\n[1"),
    (BLOCK + "\nA.\n\n", BLOCK),
    (BLOCK + "\nA.\n", ""),
    ("```json\n[]\n```\n\n", BLOCK[:-1]),
    ("A.\n\n```json\n[]\n```", ""),
    ("A.", ""),
    ("", BLOCK),
    ("", ""),
]


@pytest.mark.parametrize(("body", "tail"), TRAILING, ids=range(len(TRAILING)))
def test_trailing_fences(body: str, tail: str) -> None:
    assert trailing_fences(body + tail, WORDS) == len(body)


def test_scan_gives_content_and_info() -> None:
    text = "x\n``` json  lines\n{}\n```\n~~~\nopen"
    first, second = scan_fences(text)
    assert (text[first.content_start : first.content_end], first.info, first.word, first.closed) == (
        "{}\n", "json  lines", "json", True,
    )  # fmt: skip
    assert (text[second.content_start : second.content_end], second.word, second.closed) == ("open", "", False)


LINES = st.sampled_from(
    ["", " ", "a", "```", "```g3-followups", "~~~g3-drill-hints x", "~~~~", "    ```", "```json", "[]"]
)


@given(st.text(alphabet="ab `~#\n\r-g3", max_size=60).filter(lambda text: "```" not in text and "~~~" not in text))
def test_text_without_fences_is_never_touched(text: str) -> None:
    assert strip_fenced(text, WORDS) == text
    assert trailing_fences(text, WORDS) == len(text)


@given(st.lists(LINES, max_size=14).map("\n".join))
def test_stripping_leaves_no_such_fence_and_only_removes_whole_lines(text: str) -> None:
    left = strip_fenced(text, WORDS)
    assert all(fence.word not in WORDS for fence in scan_fences(left) if fence.start == 0 or fence.closed)
    rest = iter(text.split("\n"))
    assert all(any(line == other for other in rest) for line in left.split("\n") if line)
    assert strip_fenced(text[: trailing_fences(text, WORDS)], WORDS).strip() == left.strip()
