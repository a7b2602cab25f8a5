"""Steps and deltas: the one sequence of what happens in a run. Rules: document 2, 2.14."""

from __future__ import annotations

from typing import Any

from agrun_wasm.contracts.base import Contract

#: kept in the result's steps
STEP_TYPES: tuple[str, ...] = (
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
)
#: only in the stream; they take a seq, so steps have gaps
DELTA_TYPES: tuple[str, ...] = ("text-delta", "reasoning-delta", "tool-args-delta", "answer-superseded")


class RunEvent(Contract):
    """A step or a delta. `at` is milliseconds since the epoch, `seq` rises by one within a run, `cycle` 0 is before
    the first cycle."""

    seq: int
    type: str
    run_id: str
    cycle: int
    at: float
    detail: dict[str, Any] = {}
