"""The streamed Markdown of a chat: in the end a terminal shows every word once, whatever came in which pieces."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from agrun_host.markdown_blocks import settled
from agrun_host.markdown_screen import MarkdownScreen
from agrun_wasm import RunEvent

LIST = "\n".join(f"{n}. item{n}a with words that do not fit into a line, item{n}b" for n in range(1, 31))
TABLE = "| left | right |\n|---|---|\n" + "\n".join(f"| cell{n}a words | cell{n}b more of them |" for n in range(1, 9))
LONG = f"# Title\n\nA first paragraph.\n\n{LIST}\n\n{TABLE}\n\n```python\ncode1\n\ncode2\n```\n\nThe end."


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("", ""),
        ("One.", ""),
        ("One.\n\n", ""),
        ("One.\n\nT", ""),
        ("One.\n\nTwo.\n", "One.\n\n"),
        ("One.\n\nTwo.\n\n# Three\n", "One.\n\nTwo.\n\n"),
        ("One\ntwo\nthree\n", ""),
        ("One.\n\n- item\n", "One.\n\n"),
        ("- item\n\n- item\n", ""),
        ("- item\n\n  more\n\nTwo.\n", "- item\n\n  more\n\n"),
        ("1. item\n\n2. item\n\nTwo.\n", "1. item\n\n2. item\n\n"),
        ("```\na\n\nb\n", ""),
        ("```\na\n\nb\n```\n\nTwo.\n", "```\na\n\nb\n```\n\n"),
        ("````\n```\n\nb\n````\n\nTwo.\n", "````\n```\n\nb\n````\n\n"),
        ("| a |\n|---|\n| b |\n\nTwo.\n", "| a |\n|---|\n| b |\n\n"),
        ("> said\n\nTwo.\n", "> said\n\n"),
    ],
)
def test_what_stands_of_a_growing_text(text: str, stands: str) -> None:
    assert text[: settled(text)] == stands


class Paper:
    """A terminal of some lines: knows lines, the cursor going up, and clearing from there. What scrolled away stays."""

    def __init__(self, height: int) -> None:
        self._height = height
        self._gone: list[str] = []
        self._rows = [""]

    def write(self, text: str) -> None:
        for part in re.split(r"(\x1b\[\d+F\x1b\[J|\n)", text):
            if part == "\n":
                self._rows.append("")
                if len(self._rows) > self._height:
                    self._gone.append(self._rows.pop(0))
            elif up := re.match(r"\x1b\[(\d+)F", part):
                kept = len(self._rows) - 1 - int(up[1])
                assert kept > 0, "a whole screen is never cleared"
                self._rows = [*self._rows[:kept], ""]
            else:
                self._rows[-1] += part

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in (*self._gone, *self._rows)]


def drawn(text: str, pieces: int, *, width: int = 40, height: int = 12) -> list[str]:
    screen, file = MarkdownScreen(), io.StringIO()
    screen._draws = True
    screen._out = Console(file=file, force_terminal=True, width=width, height=height, color_system=None)
    paper = Paper(height)
    paper.write("> asked\n")
    for at in range(0, len(text), pieces):
        detail = {"text": text[at : at + pieces]}
        screen.show(RunEvent(seq=at + 1, type="text-delta", run_id="run-1", cycle=1, at=0, detail=detail))
        paper.write(file.getvalue())
        file.seek(0)
        file.truncate()
    screen.rest()
    paper.write(file.getvalue())
    return paper.lines


@pytest.mark.parametrize("pieces", [1, 7, 100, 10_000])
def test_a_long_answer_leaves_every_word_once_and_nothing_of_its_growing(pieces: int) -> None:
    lines = drawn(LONG, pieces)
    shown = " ".join(lines)
    for word in set(re.findall(r"\w+\d\w?|Title|paragraph|end", LONG)):
        assert len(re.findall(rf"\b{word}\b", shown)) == 1, word
    assert lines[0] == "> asked"
    assert all(len(line) <= 40 for line in lines)
    assert [line for line in lines if line] == [line for line in drawn(LONG, 1) if line], "the same in any pieces"


def test_a_terminal_that_became_narrower_is_cleared_of_the_lines_that_it_broke() -> None:
    screen, file = MarkdownScreen(), io.StringIO()
    screen._draws = True
    screen._out = Console(file=file, force_terminal=True, width=40, height=12, color_system=None)
    screen._say("words that fill more than a half of it")
    screen._out.width = 20
    screen._say(" now")
    assert "\x1b[2F\x1b[J" in file.getvalue()
