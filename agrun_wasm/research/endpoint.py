"""A JSON search API in SearXNG's form as a SearchProvider, asked through the fetch port. Rules: 2.10.

Owned here: the request, the check of its answer, and the words for what went wrong. Header values are secrets: they are
revealed at the moment of sending and stand in no message. Must not know the action or the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from agrun_wasm.contracts.config import WebSearchConfig
from agrun_wasm.contracts.ports import Clock, Fetch, FetchRequest
from agrun_wasm.research.download import Download, Head, download
from agrun_wasm.research.search import SearchFailed
from agrun_wasm.text.strict_json import JsonTextError, parse_json

TIMEOUT_MS = 10_000
MAX_BYTES = 2_000_000


class EndpointSearch:
    """Asks `config.endpoint` by GET with q, limit and format=json."""

    def __init__(self, config: WebSearchConfig, fetch: Fetch, clock: Clock) -> None:
        self._config = config
        self._fetch = fetch
        self._clock = clock

    async def search(self, query: str, limit: int) -> list[Mapping[str, Any]]:
        """The entries of the answer as they came. Raises SearchFailed."""
        request = FetchRequest(
            method="GET",
            url=_with_query(self._config.endpoint, q=query, limit=str(limit), format="json"),
            headers=self._headers(),
            timeout_ms=TIMEOUT_MS,
            purpose="search",
        )
        answer = await download(self._fetch, self._clock, request, timeout_ms=TIMEOUT_MS, take=_wanted)
        return _entries(answer)

    def _headers(self) -> dict[str, str]:
        headers = {name: value.get_secret_value() for name, value in self._config.headers.items()}
        if not any(name.lower() == "accept" for name in headers):
            headers["Accept"] = "application/json"
        return headers


def _with_query(endpoint: str, **parameters: str) -> str:
    parts = urlsplit(endpoint)
    query = "&".join(part for part in (parts.query, urlencode(parameters)) if part)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


def _wanted(head: Head) -> int:
    return MAX_BYTES if head.succeeded else 0


def _entries(answer: Download) -> list[Mapping[str, Any]]:
    if answer.fault is not None:
        raise SearchFailed(answer.fault.kind, f"the search endpoint gave no answer: {answer.fault.message}")
    assert answer.head is not None
    if not answer.head.succeeded:
        status = f"{answer.head.status} {answer.head.status_text}".strip()
        raise SearchFailed("http_error", f"the search endpoint answered {status}")
    if len(answer.body) > MAX_BYTES:
        raise SearchFailed("decode_error", f"the search endpoint's answer is longer than {MAX_BYTES} bytes")
    try:
        value = parse_json(answer.body.decode("utf-8-sig", "replace"))
    except JsonTextError as fault:
        raise SearchFailed("decode_error", f"the search endpoint's answer is not JSON: {fault.message}") from None
    results = value.get("results") if isinstance(value, dict) else None
    if not isinstance(results, list):
        raise SearchFailed("decode_error", "the search endpoint's answer has no list `results`")
    return results
