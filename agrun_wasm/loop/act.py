"""Act: does what was decided, and tells the model what came of it. Rules: document 2, 2.3 batches, 2.4, 2.6, 2.7."""

from __future__ import annotations

from agrun_wasm.actions.arguments import check_args
from agrun_wasm.contracts.decision import (
    ActionDecision,
    BatchDecision,
    ClarifyDecision,
    FinalDecision,
    FinalizeDecision,
    NothingRun,
    PlanDecision,
)
from agrun_wasm.contracts.state import CallState
from agrun_wasm.loop.approved import run_answered
from agrun_wasm.loop.asking import announce_pending
from agrun_wasm.loop.calls import Effects, copy_outcomes, new_call, not_run, run_calls
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.endings import first_ending
from agrun_wasm.loop.outcome import Answer, Blocked, GoOn, Outcome, WriteAnswer
from agrun_wasm.loop.plan import run_plan
from agrun_wasm.loop.telling import tell, tell_results
from agrun_wasm.planner.reading import NOT_RUN_OVER_LIMIT
from agrun_wasm.session.approvals import public_view
from agrun_wasm.skills.final import result_kind_of
from agrun_wasm.skills.tool_action import NAME as SKILL_TOOL
from agrun_wasm.skills.tools import NON_TERMINAL_KINDS
from agrun_wasm.text.digest import canonical_json

BATCH = "batchIndex"


async def act(ctx: RunContext) -> Outcome:
    """Carries out the cycle's decision, from its start or from where it was interrupted.

    What it led to is kept with the cycle: evaluating it may be cut by the deadline, and nothing is done or told twice.
    """
    return ctx.cycle.acted or _kept(ctx, await _carry_out(ctx))


def _kept(ctx: RunContext, outcome: Outcome) -> Outcome:
    if isinstance(outcome, GoOn | Answer | WriteAnswer):
        ctx.cycle.acted = outcome
    return outcome


async def _carry_out(ctx: RunContext) -> Outcome:
    decision, cycle = ctx.cycle.decision, ctx.cycle
    if isinstance(decision, FinalDecision):
        if decision.truncated:
            ctx.state.diagnostics["truncated"] = "the answer was cut at the token limit"
        return Answer(text=decision.answer, source="planner_final", citations=decision.citations)
    if isinstance(decision, FinalizeDecision):
        return WriteAnswer(instruction=decision.instruction or None, chosen=True)
    if isinstance(decision, NothingRun):
        return _answer_unrun(ctx, decision)
    if isinstance(decision, PlanDecision):
        cycle.phase = "acting" if cycle.phase == "decided" else cycle.phase
        outcome, told = await run_plan(ctx, decision)
        tell(ctx, told, cycle.calls)
        return outcome
    if cycle.phase == "decided" and isinstance(decision, ActionDecision | ClarifyDecision | BatchDecision):
        cycle.calls = _set_up(ctx, decision)
        cycle.phase = "acting"
    key = calls_key(ctx)
    effects = await run_calls(ctx, cycle.calls, key)
    effects |= await run_answered(ctx, key)
    return _close_calls(ctx, effects)


def calls_key(ctx: RunContext) -> str | None:
    return BATCH if isinstance(ctx.cycle.decision, BatchDecision) else None


def _set_up(ctx: RunContext, decision: ActionDecision | ClarifyDecision | BatchDecision) -> list[CallState]:
    if not isinstance(decision, BatchDecision):
        return [new_call(ctx.state, decision.call, None)]
    calls: list[CallState] = []
    first: dict[tuple[str, str], int] = {}
    limit = ctx.config.max_plan_actions
    for index, call in enumerate(decision.calls):
        state = new_call(ctx.state, call, index)
        if index >= limit:
            state.outcome = not_run(NOT_RUN_OVER_LIMIT.format(limit=limit))
        elif (
            (action := ctx.surface.registry.get(call.action_name or "")) and call.args is not None and not call.invalid
        ):
            canonical = check_args(action.args_schema, call.args).args
            same = first.setdefault((action.name, canonical_json(canonical)), index)
            state.same_as = same if same != index else None
        calls.append(state)
    return calls


def _close_calls(ctx: RunContext, effects: Effects) -> Outcome:
    """What finished calls lead to; blocked while an approval is pending, and then nobody is told anything yet."""
    calls = ctx.cycle.calls
    pending = ctx.state.approvals.pending
    if pending:
        announce_pending(ctx, calls_key(ctx))
        names = ", ".join(approval.policy.action_name for approval in pending)
        output = {
            "kind": "approval_required",
            "approvals": [public_view(approval) for approval in pending],
            "text": f"Approval needed: {names}",
        }
        return Blocked(output, "approval")
    copy_outcomes(calls)
    tell_results(ctx, calls)
    ending = first_ending(ctx, calls, calls_key(ctx), effects)
    if ending is not None:
        return ending
    return WriteAnswer() if _takes_fast_path(ctx, calls) else GoOn()


def _takes_fast_path(ctx: RunContext, calls: list[CallState]) -> bool:
    """singleToolFastPath: after a successful skill tool result whose kind is absent or terminal (2.9)."""
    if not ctx.config.single_tool_fast_path or calls_key(ctx) is not None or len(calls) != 1:
        return False
    call, outcome = calls[0], calls[0].outcome
    if outcome is None or not outcome.has_output or call.call.action_name != SKILL_TOOL:
        return False
    result = outcome.output.get("result") if isinstance(outcome.output, dict) else None
    succeeded = not (isinstance(result, dict) and result.get("ok") is False) and outcome.ok
    return succeeded and result_kind_of(outcome.output) not in NON_TERMINAL_KINDS


def _answer_unrun(ctx: RunContext, decision: NothingRun) -> GoOn:
    """A reply none of whose calls runs; it costs its step (2.3)."""
    calls = []
    for index, answer in enumerate(decision.answers):
        state = new_call(ctx.state, answer.call, index)
        state.outcome = not_run(answer.text)
        calls.append(state)
        if decision.not_object:
            named, fault = answer.call.named, answer.call.args_fault
            ctx.emit("action-args-invalid", actionName=named, key=None, reason="not_object", error=fault)
    ctx.cycle.calls = calls
    tell_results(ctx, calls)
    return GoOn()
