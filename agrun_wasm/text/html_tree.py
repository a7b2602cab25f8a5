"""Questions to a justhtml tree: its nodes, texts, attributes and tables.

Owned here: walking a parsed page without recursion, what is hidden, which tables hold data. Must not know: Markdown.
"""

import re
from collections.abc import Iterator
from typing import Any

__all__ = [
    "children",
    "code_language",
    "collapsed",
    "data_rows",
    "descendants",
    "is_hidden",
    "list_start",
    "text_of",
    "without_invisible",
]

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_NO_DATA_TABLE = frozenset({"table", "ul", "ol", "dl", "pre", "blockquote", *_HEADINGS})
_INVISIBLE = str.maketrans({"\u00a0": " ", "\u00ad": None, "\u200b": None, "\ufeff": None})
_DISPLAY_NONE = re.compile(r"(?:^|;)\s*display\s*:\s*none", re.IGNORECASE)
_LANGUAGE = re.compile(r"(?:^|\s)lang(?:uage)?-([\w+#.-]+)")
_WIDEST = 40
"""A colspan counts for at most so many columns."""


def descendants(root: Any) -> Iterator[Any]:
    """The nodes below `root` in document order."""
    stack = list(reversed(root.children or ()))
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def without_invisible(text: str) -> str:
    """The text without soft hyphens and zero-width signs, which would split words, and with plain blanks."""
    return text.translate(_INVISIBLE)


def collapsed(text: str) -> str:
    """The same with every run of white space as one blank, outer ones dropped."""
    return " ".join(without_invisible(text).split())


def children(node: Any) -> list[Any]:
    """The child nodes; a template's content is kept apart by the parser and is not among them."""
    return [] if node.name == "#text" else node.children or []


def is_hidden(node: Any) -> bool:
    """Whether the element itself says that it is not shown."""
    attrs = node.attrs
    return bool(attrs) and ("hidden" in attrs or _DISPLAY_NONE.search(attrs.get("style") or "") is not None)


def text_of(root: Any) -> str:
    """All text below a node as it stands, line breaks included."""
    parts = []
    for node in descendants(root):
        if node.name == "#text":
            parts.append(node.data or "")
        elif node.name == "br":
            parts.append("\n")
    return "".join(parts)


def code_language(pre: Any) -> str:
    """The language that a `pre` or the `code` in it names in its class, "" without one."""
    for node in (pre, *(child for child in pre.children if child.name == "code")):
        match = _LANGUAGE.search(node.attrs.get("class") or "")
        if match:
            return match[1]
    return ""


def list_start(node: Any) -> int:
    """The number of an ordered list's first item."""
    start = node.attrs.get("start") or ""
    return int(start) if start.isascii() and start.isdigit() and len(start) < 9 else 1


def data_rows(table: Any) -> list[list[Any]] | None:
    """The cells of a table of data by rows (None pads a colspan); None for a table that only lays out blocks."""
    rows: list[list[Any]] = []
    for node in descendants(table):
        if node.name in _NO_DATA_TABLE:
            return None
        if node.name == "tr":
            rows.append([])
        elif node.name in ("td", "th") and rows:
            span = node.attrs.get("colspan") or "1"
            width = int(span) if span.isascii() and span.isdigit() and len(span) < 4 else 1
            rows[-1].extend([node, *[None] * (min(max(width, 1), _WIDEST) - 1)])
    is_grid = max((len(row) for row in rows), default=0) > 1
    return rows if is_grid else None
