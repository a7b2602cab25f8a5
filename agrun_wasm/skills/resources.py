"""Paths inside a skill and windows of a text's lines. Pure; whose files they are is not known here."""

from __future__ import annotations

import re
from typing import NamedTuple


def path_inside(path: str) -> str | None:
    """`path` relative to the skill's root, in its shortest form; None where it leads out of the skill."""
    slashed = path.strip().replace("\\", "/")
    if not slashed or slashed.startswith("/") or re.match(r"[A-Za-z]:", slashed) or "\0" in slashed:
        return None
    parts: list[str] = []
    for part in slashed.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            return None
    return "/".join(parts) or None


class Window(NamedTuple):
    """Lines `start_line` to `end_line` of a text (from 1; an empty window ends before it starts)."""

    text: str
    start_line: int
    end_line: int
    total_lines: int


def window_of(text: str, start_line: int = 1, max_lines: int | None = None) -> Window:
    """At most `max_lines` lines from `start_line` on. A last line end makes no further line."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    first = start_line - 1
    chosen = lines[first:] if max_lines is None else lines[first : first + max_lines]
    return Window("\n".join(chosen), start_line, first + len(chosen), len(lines))
