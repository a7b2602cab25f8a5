"""The action web_search: one query, verbatim, to the host's provider or the configured endpoint. Rules: 2.10.

Owned here: which query and how many results are asked for, and the clean form of what comes back. Must not know how a
provider finds anything, nor what becomes of the results.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import isawaitable
from typing import Any, cast

from agrun_wasm.actions.context import BuiltInContext
from agrun_wasm.actions.definition import Action, BuiltIn, Execute
from agrun_wasm.contracts.config import WebSearchConfig
from agrun_wasm.contracts.effects import SearchDone
from agrun_wasm.contracts.ports import Clock, Fetch, SearchProvider
from agrun_wasm.research.endpoint import EndpointSearch, SearchFailed
from agrun_wasm.text.shorten import one_line

NAME = "web_search"
_DEFAULT_LIMIT = cast("int", WebSearchConfig.model_fields["limit"].default)


def web_search_action(search: WebSearchConfig | SearchProvider | None, fetch: Fetch | None, clock: Clock) -> Action:
    """The action; without a search to ask it is registered and not offered."""
    provider, ceiling = _provider(search, fetch, clock)

    async def execute(context: BuiltInContext, args: dict[str, Any]) -> dict[str, Any]:
        asked = args.get("query")
        query = asked if isinstance(asked, str) and asked.strip() else context.state.request.prompt
        return await _search(provider, query, _limit(args.get("limit"), ceiling))

    return Action(
        NAME,
        "Search the web; gives titles, URLs and snippets.",
        1,
        planner={
            "aliases": ["search"],
            "argsSchema": {
                "query": {"type": "string", "description": "What to search for; the user's prompt when left out."},
                "limit": {"type": "integer", "description": "How many results at most."},
            },
            "argsExample": {"query": "peat bog walkways reopening", "limit": 5},
            "guidance": "Snippets are pointers, not evidence: read the pages that matter before answering.",
        },
        permission={
            "effect": "external_network",
            "interruptBehavior": "abort_safe",
            "isConcurrencySafe": True,
            "isDestructive": False,
            "isReadOnly": True,
            "needsApproval": True,
        },
        execute=cast("Execute", execute),
        origin="built-in",
        built_in=BuiltIn(capability="web_research", offered=lambda _: provider is not None),
    )


def _provider(
    search: WebSearchConfig | SearchProvider | None, fetch: Fetch | None, clock: Clock
) -> tuple[SearchProvider | None, int | None]:
    """Who is asked, and the most results that may be asked for (None: as the model likes)."""
    if not isinstance(search, WebSearchConfig):
        return search, None
    return (EndpointSearch(search, fetch, clock) if fetch is not None else None), search.limit


def _limit(asked: Any, ceiling: int | None) -> int:
    wanted = int(asked) if asked is not None and asked >= 1 else (ceiling or _DEFAULT_LIMIT)
    return wanted if ceiling is None else min(wanted, ceiling)


async def _search(provider: SearchProvider | None, query: str, limit: int) -> dict[str, Any]:
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
