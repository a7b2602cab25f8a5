"""How a run is begun or gone on with from the command line, as plain values.

Must not know: who drives the run, where its state is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Begun", "decisions_of", "pending_in"]


class Begun(NamedTuple):
    """What is done with a run at first: it is started from an input, or gone on with by decisions and more budget."""

    run_id: str
    asked: Mapping[str, Any] | None = None
    decisions: Mapping[str, Any] = {}
    extend: Mapping[str, Any] = {}
    #: decides whatever the run waits for
    every: Any = None
    said: str | None = None


def decisions_of(approve: Sequence[str], deny: Sequence[str], note: str | None) -> dict[str, Any]:
    """Decisions as the core takes them, by approval id."""
    words = {**dict.fromkeys(approve, "approve"), **dict.fromkeys(deny, "deny")}
    if not note:
        return dict(words)
    return {approval_id: {"decision": word, "note": note} for approval_id, word in words.items()}


def pending_in(state: Mapping[str, Any]) -> list[str]:
    """The ids of the approvals that a saved state waits for; none in what is no state."""
    approvals = state.get("approvals")
    pending = approvals.get("pending") if isinstance(approvals, Mapping) else None
    found = [entry.get("approvalId") for entry in pending or () if isinstance(entry, Mapping)]
    return [approval_id for approval_id in found if isinstance(approval_id, str)]
