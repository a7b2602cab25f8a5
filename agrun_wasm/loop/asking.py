"""Asking a person: approvals are made, saved, and only then announced. Rules: document 2, 2.6.

What was announced is read from the steps, so that a run that was interrupted in between announces the rest.
"""

from __future__ import annotations

from agrun_wasm.contracts.events import StepType
from agrun_wasm.contracts.policy import PolicyDecision
from agrun_wasm.contracts.state import CallState
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.dispatch import Ready, where_of
from agrun_wasm.session.approvals import new_approval


async def ask(ctx: RunContext, asked: list[tuple[CallState, Ready, PolicyDecision]], key: str | None) -> None:
    """Makes the approvals, saves the state, and only then says that they are needed."""
    expires_at = ctx.clock.now() + ctx.config.approval_ttl_ms
    for call, ready, decision in asked:
        approval = new_approval(
            ctx.state, sequence_id=call.sequence_id, args=ready.args, decision=decision, expires_at=expires_at
        )
        call.approval_id = approval.approval_id
    await ctx.checkpoints.save()
    announce_pending(ctx, key)


def announce_pending(ctx: RunContext, key: str | None) -> None:
    """Step approval-required for each pending approval that has none yet."""
    known = announced(ctx, "approval-required")
    calls = {call.sequence_id: call for call in ctx.cycle.calls}
    for approval in ctx.state.approvals.pending:
        if approval.approval_id in known:
            continue
        detail = {
            "approvalId": approval.approval_id,
            "args": approval.args,
            "argsHash": approval.args_hash,
            "expiresAt": approval.expires_at,
        }
        ctx.emit(
            "approval-required", **{**approval.policy.to_json(), **detail}, **where_of(calls[approval.sequence_id], key)
        )


def announced(ctx: RunContext, type_: StepType) -> set[str]:
    """The approvals that steps of this type of the cycle in progress are about."""
    found: set[str] = set()
    for step in reversed(ctx.state.steps):
        if step.type == type_:
            found.add(str(step.detail.get("approvalId")))
        elif step.type == "cycle-started" and step.cycle == ctx.cycle.cycle:
            break
    return found
