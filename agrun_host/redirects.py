"""Redirects: where one leads, and which headers go along.

What is read in two ways is not followed. Must not know: connections, how often, and what is read (`reading_guard`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import urljoin, urlsplit

from agrun_wasm.contracts.ports import FetchError
from agrun_wasm.text.urls import check_public_url

__all__ = ["MAX_REDIRECTS", "REDIRECTS", "headers_along", "location", "target"]

MAX_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: the only headers that go along to another origin
_HARMLESS = frozenset({"accept", "accept-language", "accept-encoding", "user-agent"})
#: characters of a URL; it is told to models and pages, and was chosen by a server
_LONGEST = 8_192
#: what browsers take for another host where Python sees a path, or the other way round
_TWO_WAYS = re.compile(r"[a-z][a-z0-9+.-]*:(?!//[^/\\])|[/\\]{2}(?<!//)|//[/\\]|.*\t", re.IGNORECASE | re.DOTALL)


def location(lines: Iterable[tuple[bytes, bytes]], url: str) -> str | None:
    """The Location among an answer's header lines, None without one. Raises FetchError where there are several."""
    found = {value for name, value in lines if name.lower() == b"location"}
    if len(found) > 1:
        raise FetchError("network_or_cors", "a redirect names several places to go to", url=url)
    for value in found:
        try:  # servers write what browsers take: the bytes of a URL in UTF-8, unescaped
            return value.decode()
        except UnicodeDecodeError:
            return value.decode("latin-1")
    return None


def target(url: str, place: str) -> str:
    """Where a redirect from `url` leads, which is still to pass the reading guard. Raises FetchError for what is not
    followed."""
    try:
        led = "" if _TWO_WAYS.match(place) else urljoin(url, place).partition("#")[0]
    except ValueError:
        led = ""
    if check_public_url(led) == "invalid_url":
        said = "a redirect leads to something that is no http(s) URL, or one with user info"
        raise FetchError("network_or_cors", said, url=url)
    if len(led) > _LONGEST:
        raise FetchError("network_or_cors", f"a redirect leads to a URL of {len(led)} characters", url=url)
    return led


def headers_along(headers: Mapping[str, str], url: str, led: str) -> Mapping[str, str]:
    """Of a request's headers those that go from one URL to the next: all within an origin, else the harmless ones."""
    if urlsplit(led)[:2] == urlsplit(url)[:2]:
        return headers
    return {name: value for name, value in headers.items() if name.lower() in _HARMLESS}
