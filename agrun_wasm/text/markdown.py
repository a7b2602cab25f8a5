"""The structure of a Markdown text: headings, sections, words.

Owned here: which lines are headings (CommonMark with tables: fences are none, setext is one), where a section ends, the
counts of contract 2.11, and an insertion that leaves every other byte as it was.

Must not know: files, patches, risk flags. Only headings of the top level count, none in quotes and lists.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

__all__ = [
    "Heading",
    "Section",
    "SectionError",
    "count_words",
    "find_section",
    "headings",
    "insert_after_section",
    "section_end",
    "structure",
]

_LINE_END = re.compile(r"\r\n?|\n")
_BLANK = " \t\r\n"
_ATX = re.compile(r"(#{1,6})[ \t]+(.*)", re.DOTALL)
_CLOSING_HASHES = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
_EMPHASIS = re.compile(r"[*_`~]")

# Ideographs, kana and hangul; the marks between them are no characters of a word. A pattern so large is compiled only
# for a text that is not ASCII.
_CJK = (
    "[\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff]"
)
_WORD = re.compile(r"[^\W_]+")


class Heading(NamedTuple):
    """One heading: `text` is its source without `#` signs; lines count from 1, `end_line` is a setext's underline."""

    level: int
    text: str
    line: int
    end_line: int
    setext: bool


@dataclass(frozen=True, slots=True)
class Section:
    """A heading's index among the headings and the offsets of its section, from the heading's line to the next's."""

    index: int
    start: int
    end: int


class SectionError(Exception):
    """No heading fits, or more than one: `lines` are those that do."""

    def __init__(self, reason: Literal["not_found", "ambiguous"], message: str, lines: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.reason: Literal["not_found", "ambiguous"] = reason
        self.message = message
        self.lines = lines


def headings(text: str) -> list[Heading]:
    """The headings of the text in order."""
    return list(_headings(text))


def structure(text: str) -> dict[str, int]:
    """`headings`, `duplicates` (headings whose text a sibling under the same parent has before them), `maxLevel`."""
    found = _headings(text)
    open_headings: list[int] = []
    seen: set[tuple[int, str]] = set()
    duplicates = 0
    for index, heading in enumerate(found):
        while open_headings and found[open_headings[-1]].level >= heading.level:
            open_headings.pop()
        key = (open_headings[-1] if open_headings else -1, _folded(heading.text))
        duplicates += key in seen
        seen.add(key)
        open_headings.append(index)
    return {
        "headings": len(found),
        "duplicates": duplicates,
        "maxLevel": max((heading.level for heading in found), default=0),
    }


def count_words(text: str) -> int:
    """Runs of letters and digits; each CJK character counts one."""
    if text.isascii():
        return len(_WORD.findall(text))
    # A combining mark belongs to its letter; to `re` it would end the run.
    letters = "".join(char for char in text if not unicodedata.category(char).startswith("M"))
    rest, characters = re.subn(_CJK, " ", letters)
    return characters + len(_WORD.findall(rest))


def section_end(text: str, heading_index: int) -> int:
    """Offset where that heading's section ends, subsections included: the next heading's line, or the text's end."""
    found = _headings(text)
    level = found[heading_index].level
    for heading in found[heading_index + 1 :]:
        if heading.level <= level:
            return _line_start(text, heading.line)
    return len(text)


def find_section(text: str, heading: str) -> Section:
    """The section under a heading named by its text, with or without its `#` signs (then its level counts too).

    Emphasis marks are looked past only where no heading has exactly that text. Raises `SectionError`.
    """
    level, name = _asked(heading)
    found = [(index, item) for index, item in enumerate(_headings(text)) if level in (None, item.level)]
    matches = [(index, item) for index, item in found if _folded(item.text) == name]
    if not matches:
        bare = _EMPHASIS.sub("", name)
        matches = [(index, item) for index, item in found if _EMPHASIS.sub("", _folded(item.text)) == bare]
    if not matches:
        raise SectionError("not_found", f"no heading {heading.strip()!r} in the text")
    if len(matches) > 1:
        lines = tuple(item.line for _, item in matches)
        where = ", ".join(map(str, lines))
        raise SectionError("ambiguous", f"{len(lines)} headings {heading.strip()!r}, on lines {where}", lines)
    index, item = matches[0]
    return Section(index, _line_start(text, item.line), section_end(text, index))


def insert_after_section(text: str, heading: str, content: str, separator: str = "\n\n") -> str:
    """The text with `content` at the end of that section, its blank last lines after it. Raises `SectionError`.

    `separator` stands between the section and the content as given; a blank line sets the content off from what
    follows.
    """
    section = find_section(text, heading)
    last_sign = len(text[: section.end].rstrip(_BLANK))
    line_end = _LINE_END.search(text, last_sign, section.end)
    place = line_end.start() if line_end else section.end
    after = text[place:]
    gap = ""
    if after.strip(_BLANK):
        leading = after[: len(after) - len(after.lstrip(_BLANK))]
        trailing = content[len(content.rstrip(_BLANK)) :]
        gap = "\n" * max(2 - len(_LINE_END.findall(trailing)) - len(_LINE_END.findall(leading)), 0)
    return text[:place] + separator + content + gap + after


@lru_cache(maxsize=4)
def _headings(text: str) -> tuple[Heading, ...]:
    # Kept for the last few texts: one change of a file asks for the same structure several times.
    tokens = _parser().parse(text)
    return tuple(
        Heading(int(token.tag[1]), content.content, token.map[0] + 1, token.map[1], token.markup in ("=", "-"))
        for token, content in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    )


@lru_cache(maxsize=1)
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    # Inline rules cost the most and decide nothing about structure.
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _line_start(text: str, line: int) -> int:
    offset = 0
    for _ in range(line - 1):
        match = _LINE_END.search(text, offset)
        if match is None:
            return len(text)
        offset = match.end()
    return offset


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _asked(heading: str) -> tuple[int | None, str]:
    match = _ATX.fullmatch(heading.strip())
    if match is None:
        return None, _folded(heading)
    return len(match[1]), _folded(_CLOSING_HASHES.sub("", match[2]))
