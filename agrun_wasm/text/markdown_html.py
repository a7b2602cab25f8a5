"""Markdown of a model as HTML that is safe to show.

Owned here: what of a text may become markup. Raw HTML is shown as text, a link has an allowed scheme or stays text, and
a picture is a link (to load it would tell its server that the text was read). Must not know: what the text is, where it
is shown, or how it looks.
"""

from __future__ import annotations

from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

__all__ = ["LINK_SCHEMES", "link", "markdown_html"]

#: what a link of a model's text may lead to; no relative ones, which would be the notebook server's own pages
LINK_SCHEMES = frozenset({"http", "https", "mailto"})
_APART = {"target": "_blank", "rel": "noopener noreferrer nofollow"}


def markdown_html(text: str) -> str:
    """The text (CommonMark with tables and strikethrough) as HTML without scripts, styles, pictures or raw HTML."""
    return str(_parser().render(text))


def link(url: str, title: str) -> str:
    """The title as a link to the URL, or as words with the URL beside them where its scheme is not allowed."""
    if not _allowed(url):
        return escape(title if title == url else f"{title} ({url})")
    apart = " ".join(f'{name}="{value}"' for name, value in _APART.items())
    return f'<a href="{escape(url)}" {apart}>{escape(title)}</a>'


def _allowed(url: str) -> bool:
    try:
        return urlsplit(url.strip()).scheme.lower() in LINK_SCHEMES
    except ValueError:  # an address such as http://[::1
        return False


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    parser.validateLink = _allowed  # type: ignore[method-assign]
    parser.add_render_rule("link_open", _link_open)
    return parser


def _link_open(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    for name, value in _APART.items():
        tokens[index].attrSet(name, value)
    return str(renderer.renderToken(tokens, index, options, env))
