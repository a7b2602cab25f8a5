"""Does a text list its sources itself? The block at its end, found by its form, in any language. Rules: 2.10.

Pure. Owned here: the forms of a source line. Such a block is the last one of the text, each of its lines is a link or a
list item with a URL, and it stands under a heading or a line of its own; links inside sentences do not count. Must not
know which pages were read, nor the blocks for user interfaces that may follow.
"""

from __future__ import annotations

import re

__all__ = ["own_sources_start"]

#: a URL up to white space, with balanced parentheses only, so that a Markdown link target ends where it should
_URL = r"https?://[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*"
_LABEL = r"\[(?:\\.|[^\[\]\\\n]|\[[^\[\]\n]*\])*\]"
_INLINE_LINK = re.compile(rf"!?{_LABEL}\(\s*<?{_URL}>?(?:\s+\"[^\"\n]*\")?\s*\)", re.IGNORECASE)
_BARE_URL = re.compile(rf"<?{_URL}>?", re.IGNORECASE)
#: what opens a list item or a numbered reference: `- `, `2. `, `(3) `, `4、`, `（5）`, `・`, `[6] `, `[^7]: `
_MARKER = re.compile(
    r"[ \t\u3000]*(?:[-*+•‣·–]\s|[・●○■□◆◇]|\(?\d{1,3}[.)]\s|（\d{1,3}）|\d{1,3}[、．）]|\[\^?[\w-]{1,20}\]:?\s)"
)
_BETWEEN_LINKS = re.compile(r"[\s.,;|·*_]*")
#: signs that part a name from its link: `North mill: [mills.example](...)`
_AFTER_A_NAME = re.compile(r"(?:[:：|→–—]|\s-)[\s*_]*\Z")
_ATX = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_RULE_OR_FENCE = re.compile(r" {0,3}(?:(?:[-*_][ \t]*){3,}$|```|~~~)")


def own_sources_start(text: str) -> int | None:
    """Offset of the heading or line over the list of sources that ends the text; None where there is no such list."""
    lines = text.split("\n")
    first = _first_source_line(lines)
    if first is None:
        return None
    title = _title_line(lines, first)
    return None if title is None else sum(len(line) + 1 for line in lines[:title])


def _first_source_line(lines: list[str]) -> int | None:
    """Index of the first line of the block of source lines at the end."""
    first: int | None = None
    below: list[str] = []  # continuation lines of an item whose first line is still to come
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index]
        if not line.strip():
            continue
        if marker := _MARKER.match(line):
            if not (_is_source("\n".join([line[marker.end() :], *below])) or _holds_next(lines, index, first)):
                return None
            first, below = index, []
        elif not below and _only_links(line):
            first = index
        elif line[0] in " \t":
            below.insert(0, line)
        else:
            break
    return None if below else first


def _is_source(item: str) -> bool:
    """A list item that names a source: a bare URL in it, or a link at its start or after a name and a separator."""
    if _BARE_URL.search(_INLINE_LINK.sub("", item)):
        return True
    link = _INLINE_LINK.search(item)
    if link is None:
        return False
    before = item[: link.start()]
    return not before.strip("*_\"'“„«( \t") or _AFTER_A_NAME.search(before) is not None


def _holds_next(lines: list[str], index: int, first: int | None) -> bool:
    """Does the item at `index`, which has no URL itself, go on in the source line right below it?"""
    if first != index + 1:
        return False
    below = lines[first]
    return _indent(below) > _indent(lines[index]) or not _MARKER.match(below)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _only_links(line: str) -> bool:
    rest, links = _INLINE_LINK.subn("", line)
    rest, urls = _BARE_URL.subn("", rest)
    return bool(links + urls) and _BETWEEN_LINKS.fullmatch(rest) is not None


def _title_line(lines: list[str], first: int) -> int | None:
    """Index of the heading or lone line that stands over the block."""
    index = first - 1
    while index >= 0 and not lines[index].strip():
        index -= 1
    if index < 0:
        return None
    line = lines[index]
    above = lines[index - 1] if index else ""
    if _ATX.match(line):
        return index
    if _UNDERLINE.fullmatch(line) and above.strip() and not _ATX.match(above):
        return index - 1
    if _RULE_OR_FENCE.match(line):
        return None
    alone = not above.strip() or _ATX.match(above) is not None
    return index if alone or line.rstrip().rstrip("*_").endswith((":", "：")) else None
