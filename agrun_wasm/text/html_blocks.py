"""The visible content of an HTML tree as Markdown, by one iterative walk.

Owned here: which elements are blocks, lists, tables, code, links, and which are not content at all. Text is written as
it reads: no escaping, no emphasis marks, and an inline tag never splits a word.

Must not know: parsing HTML (`html` hands in the tree), fetching. Trees of any depth are walked without recursion.
"""

import re
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urljoin

from agrun_wasm.text.html_tree import (
    children,
    code_language,
    collapsed,
    data_rows,
    is_hidden,
    list_start,
    text_of,
    without_invisible,
)

__all__ = ["tree_to_markdown"]

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_CODE = frozenset({"code", "kbd", "samp", "tt"})
_SPACED = frozenset({"button", "option", "img", "input"})
_DROPPED = frozenset(
    (
        *("script", "style", "noscript", "template", "head", "title", "svg", "iframe", "object", "embed", "canvas"),
        *("audio", "video", "select", "datalist", "textarea", "rt", "rp", "annotation", "annotation-xml", "noframes"),
    )
)
_BLOCKS = frozenset(
    (
        *_HEADINGS,
        *_LISTS,
        *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div"),
        *("dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html", "legend"),
        *("li", "main", "nav", "p", "pre", "search", "section", "summary", "table", "tbody", "td", "tfoot", "th"),
        *("thead", "tr"),
    )
)

_BLANKS = re.compile(r"[ \t\n\r\f]+")
_DEEPEST = 12
"""Lists and quotes nested deeper are written at this depth: prefixes would grow with the square of the page."""


class _Span(NamedTuple):
    """Marked-up inline text: a link with its URL, or code."""

    text: str
    url: str | None = None

    def marked(self) -> str:
        if self.url is not None:
            return self.url if self.text == self.url else f"[{self.text}]({self.url})"
        ticks = "``" if "`" in self.text else "`"
        return f"{ticks}{self.text}{ticks}"


@dataclass(slots=True)
class _List:
    """An open list; `number` is that of the next item, None where items are not numbered."""

    number: int | None
    has_items: bool = False


@dataclass(slots=True)
class _Container:
    """A list item (its marker stands on its first line) or a quote (`> ` on every line)."""

    marker: str
    is_quote: bool = False
    begun: bool = False


def tree_to_markdown(root: Any, base_url: str | None) -> str:
    """The Markdown of a justhtml node; relative links are made absolute with `base_url`."""
    writer = _Writer(base_url)
    writer.walk(root)
    return "\n".join(writer.lines).strip("\n")


class _Writer:
    def __init__(self, base_url: str | None) -> None:
        self.lines: list[str] = []
        self._base_url = base_url
        self._inline: list[str | _Span] = []
        self._link: tuple[int, str] | None = None
        self._containers: list[_Container] = []
        self._lists: list[_List] = []
        self._tight = False

    def walk(self, root: Any) -> None:
        stack: list[tuple[Any, bool]] = [(root, False)]
        while stack:
            node, is_leaving = stack.pop()
            if is_leaving:
                self._leave(node)
            elif node.name == "#text":
                self._inline.append(_BLANKS.sub(" ", without_invisible(node.data or "")))
            elif self._enter(node):
                stack.append((node, True))
                stack.extend((child, False) for child in reversed(children(node)))
        self._flush()

    def _enter(self, node: Any) -> bool:
        """Begins an element; false where its children are done with or not content."""
        name = node.name
        if name.startswith(("#", "!")):
            return name in ("#document", "#document-fragment")
        if name in _DROPPED or is_hidden(node):
            return False
        if name in _BLOCKS:
            self._flush()
            return self._enter_block(name, node)
        return self._enter_inline(name, node)

    def _enter_block(self, name: str, node: Any) -> bool:
        if name == "pre":
            self._write_code(node)
            return False
        if name == "table":
            rows = data_rows(node)
            if rows is not None:
                captions = [child for child in node.children if child.name == "caption"]
                self._write([line for caption in captions if (line := collapsed(text_of(caption)))])
                self._write_table(rows)
                return False
        elif name in _LISTS:
            self._lists.append(_List(list_start(node) if name == "ol" else None))
        elif name == "li":
            self._containers.append(_Container(self._next_marker()))
        elif name == "blockquote":
            self._containers.append(_Container("> ", is_quote=True))
        return True

    def _enter_inline(self, name: str, node: Any) -> bool:
        if name == "br":
            self._inline.append("\n")
        elif name in _CODE:
            text = collapsed(text_of(node))
            if text:
                self._inline.append(_Span(text))
            return False
        elif name == "a" and self._link is None:
            url = self._target(node.attrs.get("href"))
            if url:
                self._link = (len(self._inline), url)
        elif name in _SPACED:
            self._inline.append(" " + (node.attrs.get("alt") or "" if name == "img" else ""))
        return True

    def _leave(self, node: Any) -> None:
        name = node.name
        if name == "a":
            self._close_link()
        elif name in _SPACED:
            self._inline.append(" ")
        elif name in _HEADINGS:
            self._flush("#" * _HEADINGS[name] + " ")
        elif name in _BLOCKS:
            self._flush()
            if name in _LISTS and self._lists:
                self._lists.pop()
                self._tight = False
            elif name in ("li", "blockquote") and self._containers:
                self._containers.pop()

    def _next_marker(self) -> str:
        if not self._lists:
            return "- "
        current = self._lists[-1]
        # Items after the first, and nested lists, follow without a blank line.
        self._tight = current.has_items or len(self._lists) > 1
        current.has_items = True
        if current.number is None:
            return "- "
        current.number += 1
        return f"{current.number - 1}. "

    def _target(self, href: str | None) -> str | None:
        href = (href or "").strip()
        if not href or href.startswith("#"):
            return None
        try:
            url = urljoin(self._base_url, href) if self._base_url else href
        except ValueError:
            return None
        scheme = url.partition(":")[0].lower() if ":" in url.partition("/")[0] else ""
        if scheme not in ("", "http", "https", "mailto"):
            return None
        return _BLANKS.sub("%20", url).replace("(", "%28").replace(")", "%29")

    def _close_link(self) -> None:
        if self._link is None:
            return
        begin, url = self._link
        self._link = None
        text = _joined(self._inline[begin:])
        inner = collapsed(text)
        if inner:
            blank_before, blank_after = text[:1].isspace(), text[-1:].isspace()
            self._inline[begin:] = [" " * blank_before, _Span(inner, url), " " * blank_after]

    def _flush(self, mark: str = "") -> None:
        """Ends the current line of inline text and writes it as a block of its own."""
        if not self._inline:
            return
        link = self._link
        if link is not None:
            # A link round blocks: the first one with text carries it, the others are text.
            has_text = collapsed(_joined(self._inline[link[0] :])) != ""
            self._close_link()
            self._link = None if has_text else (0, link[1])
        lines = [" ".join(line.split()) for line in _joined(self._inline).split("\n")]
        self._inline.clear()
        written = [line for line in lines if line]
        if written:
            self._write([mark + " ".join(written)] if mark else written)

    def _write(self, lines: list[str]) -> None:
        if not lines:
            return
        if self.lines and not self._tight:
            quotes = [container for container in self._containers[:_DEEPEST] if container.is_quote and container.begun]
            self.lines.append(">" * len(quotes))
        self._tight = False
        for line in lines:
            self.lines.append((self._prefix() + line).rstrip())

    def _prefix(self) -> str:
        parts = []
        for container in self._containers[:_DEEPEST]:
            is_first = not container.begun
            container.begun = True
            parts.append(container.marker if is_first or container.is_quote else " " * len(container.marker))
        return "".join(parts)

    def _write_code(self, node: Any) -> None:
        code = without_invisible(text_of(node)).strip("\n").rstrip()
        if not code.strip():
            return
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", code)), default=0))
        self._write([fence + code_language(node), *code.split("\n"), fence])

    def _write_table(self, rows: list[list[Any]]) -> None:
        cells = [[self._cell(cell) for cell in row] for row in rows]
        cells = [row for row in cells if any(row)]
        if not cells:
            return
        width = max(len(row) for row in cells)
        head, *body = [[*row, *[""] * (width - len(row))] for row in cells]
        self._write([f"| {' | '.join(row)} |" for row in (head, ["---"] * width, *body)])

    def _cell(self, cell: Any) -> str:
        if cell is None:
            return ""
        writer = _Writer(self._base_url)
        writer.walk(cell)
        return " ".join(line for line in writer.lines if line).replace("|", "\\|")


def _joined(pieces: list[str | _Span]) -> str:
    """The pieces as text. Marks of a span that is part of a word are left out: the word counts more."""
    parts: list[str] = []
    before = ""
    for place, piece in enumerate(pieces):
        if isinstance(piece, _Span):
            following = next((other for other in pieces[place + 1 : place + 4] if other), "")
            after = following.text if isinstance(following, _Span) else following
            glued = _in_word(before[-1:], piece.text[:1]) or _in_word(piece.text[-1:], after[:1])
            text = piece.text if glued else piece.marked()
            before = piece.text
        else:
            text = piece
            before = piece or before
        parts.append(text)
    return "".join(parts)


def _in_word(left: str, right: str) -> bool:
    """Whether two neighbours belong to one word, in scripts that set words apart by blanks."""
    return all(
        char.isalnum() and (char < "\u0e00" or "\u1e00" <= char < "\u2000") for char in (left or " ", right or " ")
    )
