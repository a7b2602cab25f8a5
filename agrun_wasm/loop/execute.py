"""Running a call that may run, and recording what came of it. Rules: document 2, 2.4 Context and result, Failures."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from agrun_wasm.actions import guardrail
from agrun_wasm.actions.context import ActionContext, BuiltInContext
from agrun_wasm.actions.definition import Action
from agrun_wasm.actions.protocol import ActionResult, as_json, is_ok
from agrun_wasm.contracts.effects import EffectOnState
from agrun_wasm.contracts.state import CallOutcome, CallState, ToolRecord
from agrun_wasm.loop.attempt import Tried, try_call
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.dispatch import Ready, call_hook, where_of
from agrun_wasm.loop.effects import apply_effects
from agrun_wasm.loop.waiting import Stopped
from agrun_wasm.planner.messages import output_text, render_output
from agrun_wasm.session.saved import save_state
from agrun_wasm.skills.final import result_kind_of
from agrun_wasm.skills.tools import NON_TERMINAL_KINDS

#: characters of a result that its step shows; the whole stands in toolContext
STEP_RESULT_CHARS = 1_000


async def execute(ctx: RunContext, call: CallState, ready: Ready, key: str | None) -> tuple[EffectOnState, ...]:
    """Runs the call and sets its outcome; gives the effects to apply when it is recorded. Raises Stopped only."""
    action, where = ready.action, where_of(call, key)
    args, ignored = _own_args(ready)
    detail: dict[str, Any] = {"actionName": action.name, "args": ready.args, **where}
    if ignored:
        detail["ignoredArgs"] = ignored
    ctx.emit("action-executing", **detail)
    tried = await try_call(ctx, action, _action_context(ctx, call, ready), args)
    if tried.result is None:
        _say_failure(ctx, action, tried, where)
        call.outcome = _failure(tried, action.name)
        if tried.end != "deadline":
            _count(ctx, call, ready, where, ok=False, output=None)
        return ()
    outcome = call.outcome = _executed(ctx, ready, tried.result)
    try:
        await _after_action(ctx, ready, outcome)
    finally:  # executed it is, also where a stop cuts the hook
        ctx.emit(
            "action-executed",
            actionName=action.name,
            ok=outcome.ok,
            summary=outcome.summary,
            result=output_text(outcome.output, STEP_RESULT_CHARS),
            **where,
        )
    _count(ctx, call, ready, where, ok=outcome.ok, output=outcome.output)
    return tried.result.effects


def _say_failure(ctx: RunContext, action: Action, tried: Tried, where: dict[str, int]) -> None:
    name = action.name
    if tried.end == "timeout":
        ctx.emit("action-timeout", actionName=name, timeoutMs=action.timeout_ms, **where)
    elif tried.end == "protocol_error":
        ctx.emit("action-protocol-error", actionName=name, error=tried.error, **where)
    else:
        error = "deadline" if tried.end == "deadline" else tried.error
        ctx.emit("action-failed", actionName=name, error=error, stage="execute", **where)


def _executed(ctx: RunContext, ready: Ready, result: ActionResult) -> CallOutcome:
    return CallOutcome(
        kind="executed",
        ok=is_ok(result.output),
        output=result.output,
        control=result.control,
        summary=result.summary,
        observation=_observation(ctx, ready, result.output),
    )


def record(ctx: RunContext, call: CallState, key: str | None, effects: tuple[EffectOnState, ...]) -> None:
    """Enters an output into toolContext and applies effects; called in call order, once for each call."""
    outcome = call.outcome
    if outcome is None or call.recorded:
        return
    call.recorded = True
    lists = _lists(ctx)
    before = {name: len(entries) for name, entries in lists.items()}
    if outcome.has_output:
        index = call.index if key == "planIndex" else None
        name, cycle = call.call.action_name or "", ctx.state.cycles_started
        entry = ToolRecord(action_name=name, plan_index=index, output=outcome.output, cycle=cycle)
        ctx.state.tool_context.history.append(entry)
        ctx.state.tool_context.last_result = entry
    apply_effects(ctx, effects)
    for name, entries in _lists(ctx).items():
        if places := list(range(before[name], len(entries))):
            call.shows[name] = places


def _lists(ctx: RunContext) -> dict[str, list[Any]]:
    """The lists that a handoff's inputFilter may trim from what later calls are shown (2.9)."""
    research = ctx.state.research_context
    return {
        "toolHistory": ctx.state.tool_context.history,
        "readSources": research.read_sources,
        "searchResults": research.search_results,
    }


def _action_context(ctx: RunContext, call: CallState, ready: Ready) -> ActionContext:
    ctx.settle()
    kind = BuiltInContext if ready.action.built_in else ActionContext
    declared = ctx.ports.declared_adapters.get(ready.action.name, ())
    return kind(
        idempotency_key=call.sequence_id,
        cancel=ctx.stop,
        _skills=ctx.surface.catalog.summaries,
        web_search_endpoint=ctx.ports.web_search_endpoint,
        adapters={name: ctx.ports.adapters[name] for name in declared},
        _state=ctx.state,
        _export=save_state,
    )


def _own_args(ready: Ready) -> tuple[dict[str, Any], list[str]]:
    """A typed function is given its own parameters only."""
    args = deepcopy(ready.args)  # an action may change what it was given, the record of the call stays
    takes = ready.action.parameters
    if takes is None:
        return args, []
    ignored = [key for key in args if key not in takes]
    return {key: value for key, value in args.items() if key in takes}, ignored


async def _after_action(ctx: RunContext, ready: Ready, outcome: CallOutcome) -> None:
    """Lets the hook replace the output; its failure keeps the output and is noted, and so does a deadline (2.2)."""
    if "afterAction" not in ctx.ports.hooks:
        return
    try:
        replacement = await call_hook(ctx, "afterAction", deepcopy(outcome.output))
        output = None if replacement is None else ctx.ports.redactor.value(as_json(replacement))
    except Stopped:
        raise
    except Exception as error:
        notes = ctx.state.diagnostics.setdefault("hooks", [])
        notes.append({"hook": "afterAction", "actionName": ready.action.name, "error": ctx.words_of(error)})
        return
    if replacement is not None:
        outcome.output = output
        outcome.ok = is_ok(output)
        outcome.observation = _observation(ctx, ready, output)


def _observation(ctx: RunContext, ready: Ready, output: Any) -> str:
    text = render_output(ready.action, output, ctx.config.tool_result_chars)
    kind = result_kind_of(output)
    if kind in NON_TERMINAL_KINDS:
        return f"{text}\n(resultKind {kind}: a step on the way, not the evidence; go on)"
    return text


def _failure(tried: Tried, name: str) -> CallOutcome:
    text = f"{name} failed: {tried.error}"
    return CallOutcome(kind=tried.end, ok=False, summary=text[:120], error=tried.error, observation=text)


def _count(ctx: RunContext, call: CallState, ready: Ready, where: dict[str, int], *, ok: bool, output: Any) -> None:
    config, counts = ctx.config.action_guardrail, ctx.state.loop_state.action_guardrail
    fact = guardrail.record(config, counts, ready.action.name, ready.args, ok=ok, output=output)
    if fact is None:
        return
    ctx.emit("action-guardrail-warned", actionName=fact.action_name, kind=fact.kind, count=fact.count, **where)
    if call.outcome is not None:
        call.outcome.observation += f"\n(guardrail: {fact.kind} {fact.count}; use other arguments or another way)"
