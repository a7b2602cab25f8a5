"""Going on after a person answered: approved calls run, denied ones are told, the rest stay pending. Rules: 2.6.

The answers were checked, and saved with the state, before the run went on (session/approvals); nothing here asks twice.
"""

from __future__ import annotations

from agrun_wasm.actions.policy import tightened_by_skill
from agrun_wasm.contracts.state import CallOutcome, CallState
from agrun_wasm.loop.asking import announced
from agrun_wasm.loop.calls import Effects, in_parallel, not_started, record_all
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.dispatch import Rejected, check_call, deny, where_of
from agrun_wasm.loop.execute import execute


async def run_answered(ctx: RunContext, key: str | None) -> Effects:
    """Takes every answer up that was not acted on: approved calls run, denied ones are told, the rest stay pending.

    Gives the effects by sequence id.
    """
    approved: list[CallState] = []
    calls = {call.sequence_id: call for call in ctx.cycle.calls}
    known = announced(ctx, "approval-resolved")
    for approval in ctx.state.approvals.resolved:
        call = calls.get(approval.sequence_id)
        if call is None:  # of an earlier cycle
            continue
        if approval.approval_id not in known:
            ctx.emit(
                "approval-resolved",
                approvalId=approval.approval_id,
                actionName=approval.policy.action_name,
                decision=approval.resolution,
                note=approval.note,
                **where_of(call, key),
            )
        if call.outcome is not None:
            continue
        if approval.resolution == "approve":
            approved.append(call)
        else:
            call.outcome = _denied_by_person(approval.policy.action_name, approval.note)
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
    not_started(ctx, approved)
    return effects


def _denied_by_person(name: str, note: str | None) -> CallOutcome:
    text = f"not run: the user denied {name}" + (f": {note}" if note else "")
    return CallOutcome(kind="approval_denied", ok=False, summary="denied by the user", error=text, observation=text)
