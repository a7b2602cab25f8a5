"""The http(s) URLs that stand in a text: bare, in Markdown links and autolinks.

Owned here: where such a URL begins and ends in prose of any script. Must not know: what a URL is for, and its other
spellings (`urls`).
"""

import re
from collections.abc import Iterator

from agrun_wasm.text.urls import is_http_url

__all__ = ["find_urls", "first_url"]

_START = re.compile(r"(?<![A-Za-z0-9])https?://", re.IGNORECASE)
_BARE = re.compile(
    r"[^\s\x00-\x1f\x7f<>\"`|\\^\u00ab\u00bb\u060c\u061f\u06d4\u0964\u200b\u2014\u2018\u201c-\u201f\u2026\u2060"
    r"\u3000-\u3002\u3008-\u3011\u3014-\u301b\ufeff\uff01\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff3b\uff3d\uff5b"
    r"\uff5d-\uff64]+"
)
_DESTINATION = re.compile(r"[^\s\x00-\x1f\x7f<>\"`\\]+")
_ANGLE = re.compile(r"[^<>\n]+(?=>)")
_TRAILING = ".,:;!?'*_~\u2019"
_CLOSERS = {")": "(", "]": "[", "}": "{"}


def find_urls(text: str) -> list[str]:
    """Every http(s) URL of the text in order, as it stands there: bare, in Markdown links and autolinks.

    Of a bare URL trailing punctuation and an unbalanced closing bracket are no part; a link's destination is taken
    whole. A URL that stands twice comes twice.
    """
    return list(_urls(text))


def first_url(text: str) -> str | None:
    """The first URL of the text, None without one."""
    return next(_urls(text), None)


def _urls(text: str) -> Iterator[str]:
    position = 0
    while start := _START.search(text, position):
        url = _url_at(text, start.start())
        if is_http_url(url):
            yield url
        position = max(start.start() + len(url), start.end())


def _url_at(text: str, start: int) -> str:
    before = text[max(start - 2, 0) : start]
    if before.endswith("<"):
        angle = _ANGLE.match(text, start)
        if angle and (before == "(<" or not re.search(r"\s", angle.group())):
            return angle.group().rstrip()
    if before == "](":
        destination = _DESTINATION.match(text, start)
        return _balanced(destination.group()) if destination else ""
    bare = _BARE.match(text, start)
    return _without_trailing(_ascii_ended_host(_balanced(bare.group()))) if bare else ""


def _balanced(run: str) -> str:
    """The run up to the first closing bracket that nothing in it opens."""
    if not any(closer in run for closer in _CLOSERS):
        return run
    opened: dict[str, int] = {}
    for place, char in enumerate(run):
        if char in _CLOSERS:
            opener = _CLOSERS[char]
            if not opened.get(opener):
                return run[:place]
            opened[opener] -= 1
        elif char in "([{":
            opened[char] = opened.get(char, 0) + 1
    return run


def _ascii_ended_host(url: str) -> str:
    """Without the words that follow a bare host directly: a top-level domain is ASCII or not, never mixed."""
    if url.isascii():
        return url
    begin = url.index("//") + 2
    end = min((place for sign in "/?#" if (place := url.find(sign, begin)) >= 0), default=len(url))
    last_label = max(url.rfind(".", begin, end), begin - 1) + 1
    tail = url[last_label:end]
    if tail[:1].isascii() and not tail.isascii():
        return url[:last_label] + re.split(r"[^\x00-\x7f]", tail, maxsplit=1)[0]
    return url


def _without_trailing(url: str) -> str:
    while True:
        shorter = url.rstrip(_TRAILING)
        # The sign before the end may have belonged to a character reference: `&gt;`.
        ampersand = url.rfind("&") if url.endswith(";") else -1
        if ampersand >= 0 and url[ampersand + 1 : -1].isalnum():
            shorter = url[:ampersand]
        if shorter == url:
            return url
        url = shorter
