"""How far a growing Markdown text stands: blocks that no later word can change.

Must not know: screens.
"""

from __future__ import annotations

import re

__all__ = ["settled"]

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r" {0,3}([-+*]|\d{1,9}[.)])(\s|$)")


def settled(text: str) -> int:
    """The length of the beginning of the text that stands, 0 where nothing does.

    A block ends at an empty line outside of a code fence, before a line at the margin. A list goes on after an empty
    line, with an item of its own kind or with what is indented.
    """
    at = found = 0
    fence = ""
    is_list = False
    is_empty = True
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        begins = is_empty and not fence and bool(line.strip())
        if begins and not line[0].isspace():
            is_item = _ITEM.match(line) is not None
            # Of a line that is still being written it is not known what it will be.
            if line.endswith("\n") and not (is_list and is_item):
                found, is_list = at, is_item
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        is_empty = not fence and not line.strip()
        at += len(line)
    return found
