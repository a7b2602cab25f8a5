"""The steps of a run as one row for each call of an action.

Owned here: which steps are the start and the end of one call. Must not know how a row is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agrun_wasm.contracts.events import RunEvent

__all__ = ["CallRow", "call_rows"]

#: step type that ends a call (or stands for one that was not run) -> the word for it, and the detail that says why
ENDS = {
    "action-executed": ("done", "summary"),
    "action-failed": ("failed", "error"),
    "action-timeout": ("timed out", "timeoutMs"),
    "action-protocol-error": ("failed", "error"),
    "action-args-invalid": ("not run: its arguments are not valid", "error"),
    "policy-denied": ("denied", "reason"),
    "action-guardrail-blocked": ("not run: blocked by the guardrail", "kind"),
}


@dataclass
class CallRow:
    """One call. `end` is a word for a person: running, done, failed, ..."""

    name: str
    end: str
    summary: str = ""
    args: Any = None
    result: Any = None

    def parts(self) -> list[tuple[str, Any]]:
        """The titled values to fold open; what the call has none of is left out."""
        named = [("arguments", self.args), ("result", self.result)]
        return [(title, value) for title, value in named if value is not None]


def call_rows(steps: Sequence[RunEvent], *, running: bool) -> list[CallRow]:
    """A row for each call, in the order of their starts. An end is that of the oldest open call of its name."""
    rows: list[CallRow] = []
    open_rows: dict[tuple[Any, ...], list[CallRow]] = {}
    for step in steps:
        name = str(step.detail.get("actionName"))
        key = (name, step.detail.get("planIndex"), step.detail.get("batchIndex"))
        if step.type == "action-executing":
            # Overwritten at its end; what has none was cut off by the run's own end.
            rows.append(CallRow(name, "running" if running else "cut off", args=step.detail.get("args")))
            open_rows.setdefault(key, []).append(rows[-1])
        elif step.type in ENDS:
            waiting = open_rows.get(key)
            if not waiting:
                rows.append(CallRow(name, ""))
            _end(waiting.pop(0) if waiting else rows[-1], step)
    return rows


def _end(row: CallRow, step: RunEvent) -> None:
    row.end, why = ENDS[step.type]
    if step.detail.get("ok") is False:
        row.end = "failed"
    row.summary = str(step.detail.get(why) or "")
    row.result = step.detail.get("result")
