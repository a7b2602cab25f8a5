"""Blocks of a Markdown text: joined by one blank line, and fenced JSON for a host's user interface. Rules: 2.7."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

#: info words of the blocks that close a text; sections are stripped of them
FOLLOWUPS = "g3-followups"
DRILL_HINTS = "g3-drill-hints"
TRAILING_BLOCKS = frozenset({FOLLOWUPS, DRILL_HINTS})

_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def fenced_json(info: str, items: Sequence[Any]) -> str:
    """A fenced block of compact JSON, non-ASCII as it is, or nothing for an empty list."""
    return f"```{info}\n{_compact(list(items))}\n```" if items else ""


def join(parts: Iterable[str]) -> str:
    """The parts without outer blank lines, empty ones left out, one blank line between them."""
    return "\n\n".join(trimmed for part in parts if (trimmed := trim(part)))


def trim(text: str) -> str:
    """Without blank lines at either end; what stands in the first and last line stays."""
    lines = text.split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines)


def with_lf(text: str) -> str:
    """Line ends as LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
