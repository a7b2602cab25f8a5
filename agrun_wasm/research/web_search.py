"""The action web_search: one query, verbatim, to the host's provider or the configured endpoint. Rules: 2.10.

Owned here: arguments, guidance, permissions, and which query and how many results are asked for. Must not know what a
search is (`search`), nor what becomes of the results.
"""

from __future__ import annotations

from typing import Any, cast

from agrun_wasm.actions.context import BuiltInContext
from agrun_wasm.actions.definition import Action, BuiltIn, Execute
from agrun_wasm.contracts.config import WebSearchConfig
from agrun_wasm.contracts.ports import Clock, Fetch, SearchProvider

NAME = "web_search"
_DEFAULT_LIMIT = cast("int", WebSearchConfig.model_fields["limit"].default)


def web_search_action(search: WebSearchConfig | SearchProvider | None, fetch: Fetch | None, clock: Clock) -> Action:
    """The action; without a search to ask it is registered and not offered."""
    provider, ceiling = _provider(search, fetch, clock)

    async def execute(context: BuiltInContext, args: dict[str, Any]) -> dict[str, Any]:
        from agrun_wasm.research.search import search_web

        asked = args.get("query")
        query = asked if isinstance(asked, str) and asked.strip() else context.state.request.prompt
        return await search_web(provider, query, _limit(args.get("limit"), ceiling))

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
    from agrun_wasm.research.endpoint import EndpointSearch

    return (EndpointSearch(search, fetch, clock) if fetch is not None else None), search.limit


def _limit(asked: Any, ceiling: int | None) -> int:
    wanted = int(asked) if asked is not None and asked >= 1 else (ceiling or _DEFAULT_LIMIT)
    return wanted if ceiling is None else min(wanted, ceiling)
