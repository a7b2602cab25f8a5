"""One search: the provider is asked, its answer cleaned, its failure made a result. Rules: 2.10.

Owned here: the clean form of results, and the words for a search without any. Must not know how a provider finds
anything, nor what becomes of the results.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import isawaitable
from typing import Any

from agrun_wasm.contracts.effects import SearchDone
from agrun_wasm.contracts.ports import SearchProvider
from agrun_wasm.text.shorten import one_line


class SearchFailed(Exception):
    """A search gave nothing. `error` is a stable word, `message` says what to do."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message


async def search_web(provider: SearchProvider | None, query: str, limit: int) -> dict[str, Any]:
    """The action's result; a search that fails is an output like any other."""
    try:
        if provider is None:
            raise SearchFailed("not_configured", "no search is configured; give the runtime `webSearch`")
        found: Any = provider.search(query, limit)
        entries = await found if isawaitable(found) else found
        results = clean_results(entries)[:limit]
    except SearchFailed as failure:
        return _failed(query, failure.error, failure.message)
    except Exception as failure:  # a host's provider may raise anything; for the model it is a search without results
        return _failed(query, "search_failed", one_line(f"{type(failure).__name__}: {failure}", 300))
    return {
        "control": "continue",
        "output": {"kind": "web_search_result", "ok": True, "query": query, "results": results},
        "summary": f"found {len(results)} result{'' if len(results) == 1 else 's'}",
        "effects": [SearchDone(results)],
    }


def _failed(query: str, error: str, message: str) -> dict[str, Any]:
    output = {
        "kind": "web_search_result",
        "ok": False,
        "query": query,
        "results": [],
        "error": error,
        "message": message,
    }
    return {"control": "continue", "output": output, "summary": f"search failed: {error}"}


def clean_results(entries: Any) -> list[dict[str, Any]]:
    """`[{title, url, snippet}]` of strings, in order; what has no http(s) URL is left out. Raises SearchFailed."""
    if not isinstance(entries, list | tuple):
        raise SearchFailed("bad_response", "the search provider must give a list of {title, url, snippet}")
    cleaned = []
    for entry in entries:
        if not isinstance(entry, Mapping):
            continue
        url = _text(entry.get("url")).strip()
        if url.lower().startswith(("http://", "https://")):
            snippet = _text(entry.get("snippet")) or _text(entry.get("content"))
            cleaned.append({"title": _text(entry.get("title")), "url": url, "snippet": snippet})
    return cleaned


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
