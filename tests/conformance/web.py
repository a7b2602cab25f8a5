"""The fake web of a scenario: a Fetch port that serves listed pages and notes what was asked, and a SearchProvider.

Owns which page answers a request. Runs on CPython and in Pyodide alike; opens nothing.
"""

from __future__ import annotations

import asyncio
import base64
import copy
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from agrun_wasm.contracts.ports import Clock, FetchError, FetchRequest

_PIECES = 3
"""A body comes in this many chunks, so that every reader meets a border inside it."""


@dataclass(frozen=True, slots=True)
class FakeResponse:
    """What a page answers. `pieces` are the chunks of its body, `broken` what ends it instead of its end."""

    status: int
    status_text: str
    headers: Mapping[str, str]
    url: str
    pieces: Sequence[bytes]
    broken: FetchError | None = None

    async def chunks(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            await asyncio.sleep(0)
            yield piece
        if self.broken:
            raise self.broken


class FakeFetch:
    """The Fetch port over `pages` (FORMAT.md, `http`); any other URL is a network error.

    Of several pages with one URL each serves one request, the last one all further. `requests` holds what was asked.
    """

    platform: Literal["browser", "host"] = "host"

    def __init__(self, pages: Sequence[Mapping[str, Any]], clock: Clock) -> None:
        self.requests: list[dict[str, Any]] = []
        self._clock = clock
        self._pages: dict[object, list[Mapping[str, Any]]] = {}
        for page in pages:
            self._pages.setdefault(_place(page["url"]), []).append(page)

    @asynccontextmanager
    async def open(self, request: FetchRequest) -> AsyncIterator[FakeResponse]:
        self.requests.append({"url": request.url, "method": request.method, "headers": dict(request.headers)})
        await asyncio.sleep(0)
        pages = self._pages.get(_place(request.url), [])
        if not pages:
            raise FetchError("network_or_cors", f"no response from {request.url}", url=request.url)
        page = pages.pop(0) if len(pages) > 1 else pages[0]
        if page.get("error") == "timeout":
            await self._clock.sleep(request.timeout_ms or 0)
            raise FetchError("timeout", f"no response from {request.url} in time", url=request.url)
        if page.get("error"):
            raise FetchError("network_or_cors", f"no response from {request.url}", url=request.url)
        yield response_of(page, request.url)


def response_of(page: Mapping[str, Any], url: str) -> FakeResponse:
    """A listed page (`{status, headers, body | bodyBase64}`) as a response."""
    body = base64.b64decode(page["bodyBase64"]) if "bodyBase64" in page else page.get("body", "").encode()
    status = page.get("status", 200)
    headers = {name.lower(): value for name, value in page.get("headers", {}).items()}
    return FakeResponse(status, status_text(status), headers, url, in_pieces(body))


def status_text(status: int) -> str:
    """The usual words for a status, "" where there are none."""
    return next((known.phrase for known in HTTPStatus if known == status), "")


def in_pieces(body: bytes) -> list[bytes]:
    size = max(1, -(-len(body) // _PIECES))
    return [body[at : at + size] for at in range(0, len(body), size)]


def _place(url: str) -> object:
    """What makes two URLs the same request: the fragment, an empty path and the order of a query do not count."""
    try:
        parts = urlsplit(url)
        query = sorted(parse_qsl(parts.query, keep_blank_values=True))
        return parts.scheme.lower(), parts.netloc.lower(), parts.path or "/", tuple(query)
    except ValueError:
        return url


class FakeSearch:
    """A SearchProvider with the same results for every query; `asked` holds the queries."""

    def __init__(self, results: Sequence[Mapping[str, Any]]) -> None:
        self.asked: list[dict[str, Any]] = []
        self._results = results

    async def search(self, query: str, limit: int) -> list[Mapping[str, Any]]:
        self.asked.append({"query": query, "limit": limit})
        await asyncio.sleep(0)
        return [copy.deepcopy(result) for result in self._results]
