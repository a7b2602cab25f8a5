"""Which pages the runtime reads itself when the model wants to finish after a search. Rules: 2.10.

Pure. Owned here: the choice. Must not know how pages are read, whether policy allows it, or what a decision is.
"""

from __future__ import annotations

from agrun_wasm.contracts.state import RunState


def auto_read_targets(state: RunState, limit: int) -> list[str]:
    """URLs to read now, best first, at most `limit`; none where one of the search's candidates was read.

    Candidates that were never tried come before those that failed. Whoever acts on the answer, or decides not to,
    empties `auto_read_candidates`: a search is followed up once.
    """
    research = state.research_context
    by_canonical = {source.canonical: source for source in research.sources}
    candidates = [by_canonical[canonical] for canonical in research.auto_read_candidates if canonical in by_canonical]
    if any(source.state == "read" for source in candidates):
        return []
    candidates.sort(key=lambda source: source.state != "found")  # stable: ranks hold within each half
    return [source.url for source in candidates[:limit]]
