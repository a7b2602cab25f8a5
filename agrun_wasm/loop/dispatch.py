"""The one pipeline for a call: single, in a batch, in a plan, or approved. Rules: document 2, 2.4 Dispatch.

resolve, available, args, preflight, guardrail, policy, judge, execute, check, record; `execute` and after stand in
`loop/execute`. A plan's validation takes the same checks without running anything.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple, cast

from agrun_wasm.actions import guardrail
from agrun_wasm.actions.arguments import ArgFault, check_args
from agrun_wasm.actions.definition import Action, Refused
from agrun_wasm.actions.host_code import call_host
from agrun_wasm.actions.policy import ask_judge, judged, needs_judge, tightened_by_skill
from agrun_wasm.contracts.events import StepType
from agrun_wasm.contracts.policy import PolicyDecision, PolicyEntry
from agrun_wasm.contracts.state import CallOutcome, CallState
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.waiting import Interrupted, TimedOut, bounded
from agrun_wasm.planner.envelope import EnvelopeReader

JUDGE_TIMEOUT_MS = 5_000
HOOK_TIMEOUT_MS = 10_000


class Ready(NamedTuple):
    """A call that passed the checks before policy: its action and canonical arguments."""

    action: Action
    args: dict[str, Any]
    skill_entry: PolicyEntry | None = None


class Rejected(NamedTuple):
    """A call that goes no further. `problem` is the code that a plan reports (2.7)."""

    outcome: CallOutcome
    problem: str


def where_of(call: CallState, key: str | None) -> dict[str, int]:
    """`batchIndex` or `planIndex` for the steps about an item."""
    return {} if key is None or call.index is None else {key: call.index}


def check_call(ctx: RunContext, call: CallState, key: str | None) -> Ready | Rejected:
    """Resolve, available, args, preflight: emits their steps, runs nothing."""
    where = where_of(call, key)
    action = ctx.surface.registry.get(call.call.action_name or "")
    if call.call.invalid or action is None or (call.approval_id and ctx.surface.disabled(action, ctx.state)):
        return _unavailable(ctx, call, where, key)
    if call.call.args is None:
        return _bad_args(ctx, action, ArgFault(None, "not_object", str(call.call.args_fault)), where)
    extras = action.built_in
    given = call.args or call.call.args
    entry = extras.gate(ctx.state, given) if extras and extras.gate else None
    if entry is not None and entry.action == "deny":
        decision = tightened_by_skill(ctx.surface.policy(action), entry)
        if key != "planIndex":  # a plan's validation reports a problem instead of the step (2.7)
            ctx.emit("policy-denied", **decision.to_json(), **where)
        return Rejected(_denied(decision), "policy_not_allow")
    checked = check_args(action.args_schema, given)
    if checked.rewrites:
        ctx.emit("action-args-alias-rewrite", actionName=action.name, rewrites=checked.rewrites, **where)
    if checked.fault and not (extras and extras.judges_itself(checked.fault.key)):
        return _bad_args(ctx, action, checked.fault, where)
    args = checked.args
    if extras and extras.prepare:
        prepared = extras.prepare(ctx.state, args)
        for type_, detail in prepared.steps:
            ctx.emit(cast("StepType", type_), **{"actionName": action.name, **detail, **where})
        if isinstance(prepared, Refused):
            fault = ArgFault(prepared.key, prepared.reason, prepared.error)
            return _bad_args(ctx, action, fault, where, dict(prepared.detail), prepared.problem)
        args = prepared.args
    return Ready(action, args, entry)


def guard_call(ctx: RunContext, ready: Ready, where: dict[str, int]) -> CallOutcome | None:
    """The guardrail's block, or None."""
    config, counts = ctx.config.action_guardrail, ctx.state.loop_state.action_guardrail
    fact = guardrail.check(config, counts, ready.action.name, ready.args)
    if fact is None:
        return None
    ctx.emit("action-guardrail-blocked", actionName=fact.action_name, kind=fact.kind, count=fact.count, **where)
    words = "failed" if fact.kind == "exact_failure" else "gave the same result"
    text = f"not run: this very call {words} {fact.count} times; use other arguments or another way"
    return CallOutcome(
        kind="guardrail_blocked", ok=False, summary="blocked by the guardrail", error=text, observation=text
    )


async def authorise(ctx: RunContext, ready: Ready, where: dict[str, int]) -> PolicyDecision:
    """Policy, judge and hook for a call that nobody has approved yet."""
    decision = tightened_by_skill(ctx.surface.policy(ready.action), ready.skill_entry)
    if ctx.ports.judge is not None and needs_judge(ready.action, decision):
        decision = await _judge(ctx, ctx.ports.judge, ready, decision)
        ctx.emit("action-permission-judge", **decision.to_json(), **where)
    hook = ctx.ports.hooks.get("beforeAction")
    if hook is not None and decision.action != "deny":
        decision = await _before_action(ctx, ready, decision)
    return decision


def deny(ctx: RunContext, decision: PolicyDecision, where: dict[str, int]) -> CallOutcome:
    """Step policy-denied and what the model is told."""
    ctx.emit("policy-denied", **decision.to_json(), **where)
    return _denied(decision)


async def _judge(ctx: RunContext, judge: Callable[..., Any], ready: Ready, decision: PolicyDecision) -> PolicyDecision:
    try:
        action, reason = await bounded(
            ask_judge(judge, decision, deepcopy(ready.args)),
            clock=ctx.clock,
            stop=ctx.stop.cuts_actions,
            timeout_ms=JUDGE_TIMEOUT_MS,
            deadline_at=ctx.deadline_at,
        )
    except TimedOut:
        return judged(decision, "ask", "the judge did not answer in time")
    except Interrupted:
        raise
    except Exception as error:  # a host's code may fail in any way; that means ask, never a silent run (2.6)
        return judged(decision, "ask", f"the judge failed: {ctx.words_of(error)}")
    return judged(decision, action, reason)


async def _before_action(ctx: RunContext, ready: Ready, decision: PolicyDecision) -> PolicyDecision:
    try:
        reason = reason_of(ctx, await call_hook(ctx, "beforeAction", decision.to_json(), deepcopy(ready.args)))
    except Interrupted:
        raise
    except Exception as error:
        changed = {"action": "ask", "source": "hook", "reason": f"the beforeAction hook failed: {ctx.words_of(error)}"}
        return decision.model_copy(update=changed)
    if reason is None:
        return decision
    return decision.model_copy(update={"action": "deny", "source": "hook", "reason": reason})


def reason_of(ctx: RunContext, answer: Any) -> str | None:
    """A hook's answer that is null or a reason; anything else is the hook's own failure."""
    if answer is None:
        return None
    if not isinstance(answer, str) or not answer.strip():
        raise TypeError(f"a hook answers null or a reason, not {type(answer).__name__}")
    return ctx.ports.redactor.text(answer)


async def call_hook(ctx: RunContext, name: str, *args: Any) -> Any:
    """A hook's answer within its 10 s; raises what the hook raises, or TimedOut."""
    return await bounded(
        call_host(ctx.ports.hooks[name], *args),
        clock=ctx.clock,
        stop=ctx.stop.cuts_actions,
        timeout_ms=HOOK_TIMEOUT_MS,
        deadline_at=ctx.deadline_at,
    )


def _unavailable(ctx: RunContext, call: CallState, where: dict[str, int], key: str | None) -> Rejected:
    asked = call.call
    if asked.invalid is None:
        asked = asked.model_copy(update={"invalid": "disabled_action"})
    text = EnvelopeReader(ctx.surface, ctx.state).explain_invalid(asked)
    reason = asked.invalid or "unknown_action"
    if call.approval_id:  # approved, and gone by the time of the resume
        ctx.emit("action-args-invalid", actionName=asked.named, key=None, reason="preflight", error=text, **where)
    elif key == "batchIndex":
        ctx.emit("planner-invalid-decision", reason=reason, preview=asked.named[:200], **where)
    return Rejected(CallOutcome(kind="invalid", ok=False, summary=reason, error=text, observation=text), reason)


def _bad_args(
    ctx: RunContext,
    action: Action,
    fault: ArgFault,
    where: dict[str, int],
    detail: dict[str, Any] | None = None,
    problem: str = "args_invalid",
) -> Rejected:
    ctx.emit(
        "action-args-invalid",
        actionName=action.name,
        key=fault.key,
        reason=fault.reason,
        error=fault.error,
        **(detail or {}),
        **where,
    )
    text = f"not run: the arguments of {action.name} are not valid: {fault.error}"
    return Rejected(
        CallOutcome(kind="args_invalid", ok=False, summary=fault.error, error=text, observation=text), problem
    )


def _denied(decision: PolicyDecision) -> CallOutcome:
    text = f"not run: {decision.action_name} is denied by policy ({decision.reason})"
    return CallOutcome(kind="policy_denied", ok=False, summary="denied by policy", error=text, observation=text)
