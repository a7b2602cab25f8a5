"""Going on after a person answered: approved calls run, denied ones are told, the rest stay pending. Rules: 2.6.

The answers were checked before (session/approvals); nothing here asks anybody again.
"""

from __future__ import annotations

from agrun_wasm.actions.policy import tightened_by_skill
from agrun_wasm.contracts.state import CallOutcome, CallState
from agrun_wasm.loop.act import calls_key
from agrun_wasm.loop.calls import Effects, in_parallel, record_all
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.dispatch import Rejected, check_call, deny, where_of
from agrun_wasm.loop.execute import execute
from agrun_wasm.session.approvals import Resolution, resolve


async def answer_approvals(ctx: RunContext, resolutions: list[Resolution]) -> Effects:
    """Takes the answers into the state and runs what was approved; gives the effects by sequence id."""
    calls = {call.sequence_id: call for call in ctx.cycle.calls}
    key = calls_key(ctx)
    resolve(ctx.state, resolutions)
    approved: list[CallState] = []
    for resolution in resolutions:
        approval = resolution.approval
        call = calls[approval.sequence_id]
        ctx.emit(
            "approval-resolved",
            approvalId=approval.approval_id,
            actionName=approval.policy.action_name,
            decision=resolution.answer,
            note=resolution.note,
            **where_of(call, key),
        )
        if resolution.answer == "approve":
            approved.append(call)
        else:
            call.outcome = _denied_by_person(approval.policy.action_name, resolution.note)
    effects: Effects = {}

    async def one(call: CallState) -> None:
        ready = check_call(ctx, call, key)
        if isinstance(ready, Rejected):
            call.outcome = ready.outcome
            return
        decision = tightened_by_skill(ctx.surface.policy(ready.action), ready.skill_entry)
        if decision.action == "deny":
            call.outcome = deny(ctx, decision, where_of(call, key))
        else:
            effects[call.sequence_id] = await execute(ctx, call, ready, key)

    approved.sort(key=lambda call: call.index or 0)
    try:
        await in_parallel(ctx, approved, one)
    finally:
        record_all(ctx, ctx.cycle.calls, key, effects)
    return effects


def _denied_by_person(name: str, note: str | None) -> CallOutcome:
    text = f"not run: the user denied {name}" + (f": {note}" if note else "")
    return CallOutcome(kind="approval_denied", ok=False, summary="denied by the user", error=text, observation=text)
