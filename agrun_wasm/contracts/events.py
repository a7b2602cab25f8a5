"""Steps and deltas: the one sequence of what happens in a run. Rules: document 2, 2.14."""

from __future__ import annotations

import json
from typing import Any, Literal, Self, get_args

from agrun_wasm.contracts.base import Contract

#: kept in the result's steps
StepType = Literal[
    "run-started",
    "planner-mode-resolved",
    "cycle-started",
    "planner-requested",
    "planner-responded",
    "planner-repair-requested",
    "planner-repair-completed",
    "planner-invalid-decision",
    "planner-mode-fallback",
    "model-retry",
    "action-args-alias-rewrite",
    "action-args-invalid",
    "skill-tool-args-lifted",
    "action-guardrail-warned",
    "action-guardrail-blocked",
    "policy-denied",
    "action-permission-judge",
    "approval-required",
    "approval-resolved",
    "action-executing",
    "action-executed",
    "action-failed",
    "action-timeout",
    "action-protocol-error",
    "plan-validating",
    "plan-validation-failed",
    "plan-executing",
    "plan-executed",
    "synthesize-per-action-start",
    "synthesize-section-done",
    "synthesize-stitch-done",
    "direct-final-emitted",
    "direct-final-skipped",
    "auto-read",
    "citation-review",
    "workspace-patch-narrowed",
    "context-compacted",
    "cost-budget-warning",
    "finalize-requested",
    "finalize-completed",
    "cycle-completed",
    "run-completed",
    "run-blocked",
    "run-continuation",
    "run-failed",
    "run-aborted",
]
#: only in the stream; they take a seq, so steps have gaps
DeltaType = Literal["text-delta", "reasoning-delta", "tool-args-delta", "answer-superseded"]

STEP_TYPES: tuple[str, ...] = get_args(StepType)
DELTA_TYPES: frozenset[str] = frozenset(get_args(DeltaType))

_encode = json.JSONEncoder(ensure_ascii=False).encode


class RunEvent(Contract):
    """A step or a delta. `at` is milliseconds since the epoch, `seq` rises by one within a run, `cycle` 0 is before
    the first cycle."""

    seq: int
    type: str
    run_id: str
    cycle: int
    at: float
    detail: dict[str, Any] = {}

    @classmethod
    def made(cls, seq: int, type_: str, run_id: str, cycle: int, at: float, detail: dict[str, Any]) -> Self:
        """An event of our own making: nothing is validated, since a stream has thousands of them."""
        event = cls.__new__(cls)
        fields = {"seq": seq, "type": type_, "run_id": run_id, "cycle": cycle, "at": at, "detail": detail}
        object.__setattr__(event, "__dict__", fields)
        object.__setattr__(event, "__pydantic_fields_set__", _FIELDS)
        object.__setattr__(event, "__pydantic_extra__", None)
        object.__setattr__(event, "__pydantic_private__", None)
        return event

    def to_json(self) -> dict[str, Any]:
        """The event under its wire names; `detail` is the event's own."""
        return {
            "seq": self.seq,
            "type": self.type,
            "runId": self.run_id,
            "cycle": self.cycle,
            "at": self.at,
            "detail": self.detail,
        }

    def to_json_text(self) -> str:
        """The event as one line of JSON, non-ASCII as it is."""
        return _encode(self.to_json())


_FIELDS = {"seq", "type", "run_id", "cycle", "at", "detail"}
