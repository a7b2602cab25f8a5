"""Narrowing: a model that proposes blocked patches again and again is shown the growth actions only. Rules: 2.11.

Owned here: the counts in the loop state and what they withhold; each function changes the given loop state and nothing
else. Must not know why a preview was blocked, nor how actions are offered.
"""

from __future__ import annotations

from collections.abc import Collection

from agrun_wasm.contracts.state import LoopState

BLOCKED_PREVIEWS = 2
"""So many blocked previews of one file in a row narrow the surface."""

WITHHELD = frozenset({"workspace_propose_patch", "workspace_apply_patch"})

#: without one of these on offer there would be nothing left to grow a file with
WAYS_OUT = frozenset({"workspace_append", "workspace_insert_after_section"})


def record_preview(loop_state: LoopState, path: str, blocked: bool, offered: Collection[str]) -> str | None:
    """Counts a preview. The path, when this one narrows the surface, for `workspace-patch-narrowed {path, on: true}`.

    `offered` are the names of the actions on offer.
    """
    if not blocked:
        loop_state.blocked_previews.pop(path, None)
        return None
    count = loop_state.blocked_previews.get(path, 0) + 1
    loop_state.blocked_previews[path] = count
    if count < BLOCKED_PREVIEWS or loop_state.narrowed_path is not None or WAYS_OUT.isdisjoint(offered):
        return None
    loop_state.narrowed_path = path
    return path


def record_growth(loop_state: LoopState) -> str | None:
    """A growth action or a publication has run: all counts start anew. The path that was narrowed until now."""
    narrowed = loop_state.narrowed_path
    loop_state.narrowed_path = None
    loop_state.blocked_previews.clear()
    return narrowed


def withheld(loop_state: LoopState, offered: Collection[str]) -> frozenset[str]:
    """The names that must not be offered now, of those that otherwise would be."""
    if loop_state.narrowed_path is None or WAYS_OUT.isdisjoint(offered):
        return frozenset()
    return WITHHELD
