"""Act: does what was decided, and tells the model what came of it. Rules: document 2, 2.3 batches, 2.4, 2.6, 2.7."""

from __future__ import annotations

from typing import Any

from agrun_wasm.actions.arguments import check_args
from agrun_wasm.actions.guardrail import canonical_json
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
from agrun_wasm.loop.calls import Effects, copy_outcomes, new_call, not_run, run_calls
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.endings import first_ending
from agrun_wasm.loop.outcome import Answer, Blocked, GoOn, Outcome, WriteAnswer
from agrun_wasm.loop.plan import run_plan
from agrun_wasm.planner.messages import (
    named_result,
    observation_message,
    result_message,
    results_message,
)
from agrun_wasm.planner.reading import CALL_AGAIN_ALONE, NOT_RUN_OVER_LIMIT
from agrun_wasm.session.approvals import public_view
from agrun_wasm.skills.final import result_kind_of
from agrun_wasm.skills.tool_action import NAME as SKILL_TOOL
from agrun_wasm.skills.tools import NON_TERMINAL_KINDS

BATCH = "batchIndex"


async def act(ctx: RunContext) -> Outcome:
    """Carries out the cycle's decision, from its start or from where it was interrupted."""
    decision, cycle = ctx.cycle.decision, ctx.cycle
    if isinstance(decision, FinalDecision):
        if decision.truncated:
            ctx.state.diagnostics["truncated"] = "the answer was cut at the token limit"
        return Answer(decision.answer, "planner_final", citations=decision.citations)
    if isinstance(decision, FinalizeDecision):
        return WriteAnswer(decision.instruction or None, chosen=True)
    if isinstance(decision, NothingRun):
        return _answer_unrun(ctx, decision)
    if isinstance(decision, PlanDecision):
        cycle.phase = "acting" if cycle.phase == "decided" else cycle.phase
        outcome, told = await run_plan(ctx, decision)
        if ctx.state.transcript[-1].kind == "decision":  # not told yet, by a drive that was interrupted after it
            tell(ctx, told, cycle.calls)
        return outcome
    if cycle.phase == "decided" and isinstance(decision, ActionDecision | ClarifyDecision | BatchDecision):
        cycle.calls = _set_up(ctx, decision)
        cycle.phase = "acting"
    effects = await run_calls(ctx, cycle.calls, calls_key(ctx))
    return close_calls(ctx, effects)


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


def close_calls(ctx: RunContext, effects: Effects) -> Outcome:
    """What finished calls lead to; blocked while an approval is pending, and then nobody is told anything yet."""
    calls = ctx.cycle.calls
    pending = ctx.state.approvals.pending
    if pending:
        names = ", ".join(approval.action_name for approval in pending)
        output = {
            "kind": "approval_required",
            "approvals": [public_view(approval) for approval in pending],
            "text": f"Approval needed: {names}",
        }
        return Blocked(output, "approval")
    copy_outcomes(calls)
    _tell_results(ctx, calls)
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


def _answer_unrun(ctx: RunContext, decision: NothingRun) -> Outcome:
    """A reply none of whose calls runs; it costs its step (2.3)."""
    calls = []
    for index, (call, text) in enumerate(decision.answers):
        state = new_call(ctx.state, call, index)
        state.outcome = not_run(text)
        calls.append(state)
        if decision.not_object:
            ctx.emit("action-args-invalid", actionName=call.named, key=None, reason="not_object", error=call.args_fault)
    ctx.cycle.calls = calls
    _tell_results(ctx, calls)
    return GoOn()


def _tell_results(ctx: RunContext, calls: list[CallState]) -> None:
    """Every call of the reply is answered: with its result, or with why it did not run."""
    cycle = ctx.cycle.cycle
    ctx.state.observations += [f"{c.call.named}: {c.outcome.summary}" for c in calls if c.outcome]
    reply = _native_reply(ctx)
    if not reply:
        texts = [named_result(call.call, call.outcome) for call in calls if call.outcome]
        ctx.transcript.append(results_message(calls, "\n\n".join(texts), cycle))
        return
    by_id = {call.call.call_id: call for call in calls}
    for call_id, name in reply:
        state = by_id.get(call_id)
        text = state.outcome.observation if state and state.outcome else CALL_AGAIN_ALONE
        ctx.transcript.append(result_message(call_id, name, text, cycle, state))


def tell(ctx: RunContext, text: str, calls: list[CallState] | None = None) -> None:
    """One text for the whole decision: the answer to its own native call, else an observation."""
    cycle = ctx.cycle.cycle
    done = getattr(ctx.cycle.decision, "call_id", None)
    reply = _native_reply(ctx)
    ctx.state.observations.append(text if len(text) <= 160 else text[:159] + "…")
    if not reply:
        message = results_message(calls, text, cycle) if calls else observation_message(text, cycle)
        ctx.transcript.append(message)
        return
    for call_id, name in reply:
        shown = text if call_id == done else CALL_AGAIN_ALONE
        message = result_message(call_id, name, shown, cycle, None)
        ctx.transcript.append(message.model_copy(update={"is_error": call_id != done}))


def _native_reply(ctx: RunContext) -> list[tuple[str, str]]:
    """Ids and names of the calls in the cycle's reply that are not answered yet, in call order."""
    calls, answered = _reply_calls(ctx)
    return [(call_id, name) for call_id, name in calls if call_id not in answered]


def _reply_calls(ctx: RunContext) -> tuple[list[tuple[str, str]], set[str | None]]:
    """The calls in the latest reply, in call order, and the ids of those that are answered."""
    answered: set[str | None] = set()
    for message in reversed(ctx.state.transcript):
        if message.kind == "decision":
            return [(call.id, call.name) for call in message.tool_calls], answered
        answered.add(message.tool_call_id)
    return [], answered


def results_record(ctx: RunContext) -> list[dict[str, Any]]:
    """`act.results` of the cycle's record, in call order; calls that were not run stand there too (2.5)."""
    cycle = ctx.cycle
    listed = {call.call.call_id: call for call in cycle.calls if call.call.call_id is not None}
    results = []
    own = getattr(cycle.decision, "call_id", None)
    calls = _reply_calls(ctx)[0] if cycle.decision else []
    for call_id, name in calls:
        if call_id in listed:
            results += _result_record([listed[call_id]])
        elif call_id == own:
            results += _result_record(cycle.calls)
        else:
            action = ctx.surface.registry.resolve(name)
            results.append({"actionName": action.name if action else name, "ok": False, "summary": "not run"})
    return results if calls else _result_record(cycle.calls)


def _result_record(calls: list[CallState]) -> list[dict[str, Any]]:
    return [
        {"actionName": call.call.action_name or call.call.named, "ok": call.outcome.ok, "summary": call.outcome.summary}
        for call in calls
        if call.outcome is not None
    ]


def interrupted_results(ctx: RunContext) -> None:
    """After a cut: the calls of the reply that have no result yet are answered."""
    calls = ctx.state.cycle.calls if ctx.state.cycle else []
    for call_id, name in _native_reply(ctx):
        state = next((call for call in calls if call.call.call_id == call_id), None)
        text = state.outcome.observation if state and state.outcome else "interrupted: the run ended before it"
        ctx.transcript.append(result_message(call_id, name, text, ctx.state.cycles_started, state))
