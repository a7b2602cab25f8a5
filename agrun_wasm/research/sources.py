"""The registry of sources: one record for each page that was found or tried in a run. Rules: 2.10.

Owned here: how search results and read results become records, and the order of states. Each function changes the given
research context and nothing else. Must not know citations, nor how a page is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agrun_wasm.contracts.state import ResearchContext, Source
from agrun_wasm.text.urls import canonical_url

#: failed results that say nothing about a page: no page was meant, or none was asked for
_NO_PAGE = frozenset({"invalid_url", "invalid_method"})


def add_search_results(research: ResearchContext, results: Iterable[dict[str, Any]]) -> None:
    """A search's results become shown results, sources in state found, and the candidates for autoRead."""
    candidates: list[str] = []
    for result in results:
        research.search_results.append(result)
        source = _record(research, result["url"], result.get("title") or "")
        if source.canonical not in candidates:
            candidates.append(source.canonical)
    research.auto_read_candidates = candidates


def add_read(research: ResearchContext, result: dict[str, Any]) -> None:
    """A read_url_result, success or failure. A page that was read stays read; HEAD only finds."""
    research.read_sources.append(result)
    error = result.get("error")
    if error in _NO_PAGE or not result.get("url"):
        return
    title = result.get("title") or ""
    source = _record(research, result["url"], title)
    if not result["ok"]:
        if source.state != "read":
            source.state = "blocked" if error == "blocked_page" else "failed"
    elif result.get("method") != "HEAD":
        if source.state != "read":
            source.url = result["url"]  # cited as it was asked for, not as some search spelled it
        source.state = "read"
        source.title = title or source.title


def reading_order(research: ResearchContext) -> list[Source]:
    """The sources in state read, in the order in which they first were."""
    by_canonical = {source.canonical: source for source in research.sources if source.state == "read"}
    ordered: dict[str, Source] = {}
    for result in research.read_sources:
        source = by_canonical.get(canonical_url(result["url"])) if result["ok"] else None
        if source is not None:
            ordered.setdefault(source.canonical, source)
    return list((ordered | by_canonical).values())


def _record(research: ResearchContext, url: str, title: str) -> Source:
    canonical = canonical_url(url)
    for source in research.sources:
        if source.canonical == canonical:
            source.title = source.title or title
            return source
    source = Source(id=f"s{len(research.sources) + 1}", url=url, canonical=canonical, title=title)
    research.sources.append(source)
    return source
