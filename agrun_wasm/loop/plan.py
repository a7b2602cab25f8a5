"""Plans: everything validated before anything runs, run in parallel, and the one way a plan goes on. Rules: 2.7."""

from __future__ import annotations

import json
from typing import Any

from agrun_wasm.contracts.decision import PlanDecision, PlanItem
from agrun_wasm.contracts.state import CallOutcome, CallState
from agrun_wasm.loop.budget import out_of_budget
from agrun_wasm.loop.calls import Effects, in_parallel, new_call, not_run, not_started, record_all
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.dispatch import Ready, Rejected, authorise, check_call, guard_call, where_of
from agrun_wasm.loop.endings import completed, final_result
from agrun_wasm.loop.execute import execute
from agrun_wasm.loop.outcome import GoOn, Outcome, WriteAnswer
from agrun_wasm.loop.stitch import stitch_problem
from agrun_wasm.loop.synthesize import synthesize
from agrun_wasm.loop.waiting import Stopped
from agrun_wasm.planner.messages import plan_results

KEY = "planIndex"
Problem = dict[str, Any]


async def run_plan(ctx: RunContext, plan: PlanDecision) -> tuple[Outcome, str]:
    """What the plan leads to, and what the model is told of it where the run goes on."""
    cycle = ctx.cycle
    if cycle.phase == "synthesizing":  # interrupted between execution and its end: the results go to the planner
        return GoOn(), _told(cycle.calls)
    ctx.emit("plan-validating", actionCount=len(plan.actions), partialOk=plan.partial_ok)
    calls = [new_call(ctx.state, item, index) for index, item in enumerate(plan.actions)]
    ready, problems = await _validate(ctx, plan, calls)
    if problems:
        ctx.emit("plan-validation-failed", problems=problems)
        text = _explain(problems)
        for call in calls:
            call.outcome = not_run(text)
        cycle.calls = calls
        return GoOn(), text
    cycle.calls = calls
    await _execute(ctx, calls, ready)
    if ctx.stopped:  # a plan cut by a stop has no plan-executed (2.7)
        raise Stopped
    failed = [call for call in calls if call.outcome is None or not call.outcome.has_output]
    ctx.emit(
        "plan-executed",
        actionCount=len(calls),
        successCount=len(calls) - len(failed),
        failureCount=len(failed),
        allOk=not failed,
        partialOk=plan.partial_ok,
    )
    cycle.phase = "synthesizing"
    if spent := out_of_budget(ctx):
        return spent, _told(calls)
    if failed and not plan.partial_ok:
        return GoOn(), _told(calls)
    return await _go_on(ctx, plan, calls), _told(calls)


async def _go_on(ctx: RunContext, plan: PlanDecision, calls: list[CallState]) -> Outcome:
    """The first that applies, when all items have finished."""
    for call in calls:
        if done := completed(call):
            return done
    if plan.synthesize_per_action:
        return await synthesize(ctx, plan, calls)
    for call in calls:
        if answer := final_result(ctx, call, KEY):
            return answer
    if (plan.synthesize_instruction or "").strip().casefold() == "direct":
        return GoOn()
    return WriteAnswer(instruction=plan.synthesize_instruction)


async def _validate(
    ctx: RunContext, plan: PlanDecision, calls: list[CallState]
) -> tuple[dict[str, Ready], list[Problem]]:
    """Every problem of every item, and the calls that are ready when there is none."""
    problems: list[Problem] = []
    ready: dict[str, Ready] = {}
    limit = ctx.config.max_plan_actions
    if len(calls) > limit:
        problems.append(_problem(None, "too_many_actions", f"{len(calls)} actions; at most {limit} in one plan"))
    if plan.synthesize_per_action and (fault := plan.stitch_fault or stitch_problem(plan.stitch)):
        problems.append(_problem(None, "stitch_invalid", fault))
    for call in calls:
        checked = await _check_item(ctx, call)
        if isinstance(checked, Ready):
            ready[call.sequence_id] = checked
            call.args = checked.args
        else:
            problems.append(checked)
        item = call.call
        if plan.synthesize_per_action and not (isinstance(item, PlanItem) and item.section and item.section.prompt):
            text = "synthesize_per_action needs a section.prompt for every action"
            problems.append(_problem(call.index, "missing_section_prompt", text))
    return ready, problems


async def _check_item(ctx: RunContext, call: CallState) -> Ready | Problem:
    """The item's first failed check, or the item ready to run."""
    item = call.call
    if isinstance(item, PlanItem) and item.item_type is not None:
        return _problem(call.index, "not_an_action", f"an item must be an action, not {item.item_type!r}")
    action = ctx.surface.registry.get(item.action_name or "")
    if item.invalid is None and action is not None and action.standalone:
        return _problem(call.index, "standalone_action", f"{action.name} runs alone, never in a plan")
    checked = check_call(ctx, call, KEY)
    if isinstance(checked, Rejected):
        return _problem(call.index, checked.problem, checked.outcome.error or checked.outcome.observation)
    decision = await authorise(ctx, checked, where_of(call, KEY))
    if decision.action != "allow":
        text = f"{decision.action_name} is {decision.action!r} by policy ({decision.reason}); call it alone"
        return _problem(call.index, "policy_not_allow", text)
    return checked


async def _execute(ctx: RunContext, calls: list[CallState], ready: dict[str, Ready]) -> None:
    ctx.emit("plan-executing", actionCount=len(calls))
    effects: Effects = {}

    async def one(call: CallState) -> None:
        item = ready[call.sequence_id]
        if blocked := guard_call(ctx, item, where_of(call, KEY)):
            call.outcome = blocked
        else:
            effects[call.sequence_id] = await execute(ctx, call, item, KEY)

    try:
        await in_parallel(ctx, calls, one)
    finally:
        record_all(ctx, calls, KEY, effects)
    not_started(ctx, calls)


def _problem(index: int | None, code: str, error: str) -> Problem:
    return {"planIndex": index, "code": code, "error": error}


def _explain(problems: list[Problem]) -> str:
    lines = [
        f"- {'plan' if p['planIndex'] is None else 'action ' + str(p['planIndex'])}: {p['code']}: {p['error']}"
        for p in problems
    ]
    return "The plan was not run:\n" + "\n".join(lines)


def _told(calls: list[CallState]) -> str:
    """Every item's outcome in declaration order, an item without output as its error record (2.7)."""
    return plan_results(
        [
            (call.index or 0, call.call, call.outcome if call.outcome.has_output else _as_error(call, call.outcome))
            for call in calls
            if call.outcome is not None
        ]
    )


def _as_error(call: CallState, outcome: CallOutcome) -> CallOutcome:
    record = {
        "kind": "planned_action_error",
        "actionName": call.call.action_name,
        "planIndex": call.index,
        "error": outcome.error,
    }
    return outcome.model_copy(update={"observation": json.dumps(record, ensure_ascii=False)})
