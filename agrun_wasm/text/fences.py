"""Fenced code blocks of a Markdown text, by a line scanner.

Owned here: where fences begin and end (CommonMark: three or more backticks or tildes, up to three spaces in, an
unclosed one runs to the end of the text) and the removal of those with a given info word (contract 2.7), byte for byte
elsewhere.

Must not know: which info words matter and why; JSON. No Markdown parser: its tokens do not give back the exact bytes.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Fence", "scan_fences", "strip_fenced", "trailing_fences"]

_OPENER = re.compile(
    r"^ {0,3}(?:(?P<ticks>`{3,})(?P<tick_info>[^`\n]*)|(?P<tildes>~{3,})(?P<tilde_info>[^\n]*))$", re.MULTILINE
)
_BLANK = " \t\r\n"


class Fence(NamedTuple):
    """One fenced block as offsets into its text.

    `start` to `end` is the whole block with its last line break, `content_start` to `content_end` what it holds;
    `info` is the stripped info string; `closed` is false where the text ended first.
    """

    start: int
    content_start: int
    content_end: int
    end: int
    info: str
    closed: bool

    @property
    def word(self) -> str:
        """First word of the info string in lower case, "" without one."""
        words = self.info.split(None, 1)
        return words[0].lower() if words else ""


def scan_fences(text: str, start: int = 0) -> Iterator[Fence]:
    """The outermost fenced blocks from `start` (a line's start) on, in order."""
    if "```" not in text and "~~~" not in text:
        return
    position = start
    while opener := _OPENER.search(text, position):
        mark = opener["ticks"] or opener["tildes"]
        info = (opener["tick_info"] if opener["ticks"] else opener["tilde_info"]).strip(_BLANK)
        content_start = _next_line(text, opener.end())
        closer = re.compile(rf"^ {{0,3}}{mark[0]}{{{len(mark)},}}[ \t\r]*$", re.MULTILINE).search(text, content_start)
        if closer:
            end = _next_line(text, closer.end())
            fence = Fence(opener.start(), content_start, closer.start(), end, info, closed=True)
        else:
            fence = Fence(opener.start(), content_start, len(text), len(text), info, closed=False)
        yield fence
        position = fence.end


def strip_fenced(text: str, info_words: frozenset[str]) -> str:
    """The text without the blocks whose info string's first word is one of `info_words`, in any letter case.

    Each goes with one adjoining blank line: the one before it, else the one after it. Blocks that follow each other
    directly go as one, so that the paragraphs round them stay apart. All else is kept as it is.
    """
    kept: list[str] = []
    position = 0
    for start, end in _runs(text, info_words):
        blank_before = _blank_line_before(text, start, position)
        if blank_before is None:
            kept.append(text[position:start])
            position = _after_blank_line(text, end)
        else:
            kept.append(text[position:blank_before])
            position = end
    kept.append(text[position:])
    return "".join(kept)


def trailing_fences(text: str, info_words: frozenset[str]) -> int:
    """Offset of the first of the blocks with these info words that end the text, blank lines apart; else its length."""
    begin = len(text)
    for start, end in reversed(_runs(text, info_words)):
        if text[end:begin].strip(_BLANK):
            break
        begin = start
    return begin


def _runs(text: str, info_words: frozenset[str]) -> list[tuple[int, int]]:
    """Start and end of the blocks with these info words, those that touch each other as one."""
    words = {word.lower() for word in info_words}
    runs: list[tuple[int, int]] = []
    for fence in scan_fences(text):
        if fence.word not in words:
            continue
        if runs and runs[-1][1] == fence.start:
            runs[-1] = (runs[-1][0], fence.end)
        else:
            runs.append((fence.start, fence.end))
    return runs


def _next_line(text: str, line_end: int) -> int:
    return min(line_end + 1, len(text))


def _blank_line_before(text: str, start: int, floor: int) -> int | None:
    if start <= floor:
        return None
    begin = text.rfind("\n", 0, start - 1) + 1
    if begin < floor or text[begin:start].strip(_BLANK):
        return None
    return begin


def _after_blank_line(text: str, end: int) -> int:
    line_end = text.find("\n", end)
    after = len(text) if line_end < 0 else line_end + 1
    return end if text[end:after].strip(_BLANK) else after
