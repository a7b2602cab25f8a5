"""Telling the model what came of its decision: every call of a reply is answered, once. Rules: document 2, 2.3, 2.5.

Owns what enters the transcript after a decision, and the record's list of results. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agrun_wasm.contracts.model import ToolCall
from agrun_wasm.contracts.state import CallState
from agrun_wasm.loop.context import RunContext
from agrun_wasm.planner.messages import named_result, observation_message, result_message, results_message
from agrun_wasm.planner.reading import CALL_AGAIN_ALONE
from agrun_wasm.text.shorten import one_line

OBSERVATION_CHARS = 160


def tell_results(ctx: RunContext, calls: list[CallState]) -> None:
    """Each call's own result; calls of the reply that are not among `calls` are to come again alone."""
    ctx.state.observations += [f"{call.call.named}: {call.outcome.summary}" for call in calls if call.outcome]
    by_id = {call.call.provider_id: call for call in calls}
    if _answer_reply(ctx, lambda call: (_observation(by_id.get(call.id)), _one(by_id.get(call.id)))):
        return
    texts = [named_result(call.call, call.outcome) for call in calls if call.outcome]
    ctx.transcript.append(results_message(calls, "\n\n".join(texts), ctx.cycle.cycle))


def tell(ctx: RunContext, text: str, calls: list[CallState] | None = None) -> None:
    """One text for the whole decision: as the answer to its own native call, else as an observation."""
    ctx.state.observations.append(one_line(text, OBSERVATION_CHARS))
    own = ctx.cycle.decision.provider_id if ctx.cycle.decision else None
    if _answer_reply(ctx, lambda call: (text, calls or []) if call.id == own else (CALL_AGAIN_ALONE, [])):
        return
    cycle = ctx.cycle.cycle
    ctx.transcript.append(results_message(calls, text, cycle) if calls else observation_message(text, cycle))


def tell_interrupted(ctx: RunContext) -> None:
    """After a cut: calls of the reply without a result are answered, so that a provider accepts the history."""
    calls = ctx.state.cycle.calls if ctx.state.cycle else []
    by_id = {call.call.provider_id: call for call in calls if call.outcome}
    text = "interrupted: the run ended before it"
    _answer_reply(ctx, lambda call: (_observation(by_id.get(call.id), text), _one(by_id.get(call.id))))


def results_record(ctx: RunContext) -> list[dict[str, Any]]:
    """`act.results` of the cycle's record, in call order; calls that were not run stand there too (2.5)."""
    cycle = ctx.cycle
    own = cycle.decision.provider_id if cycle.decision else None
    listed = {call.call.provider_id: call for call in cycle.calls if call.call.provider_id is not None}
    calls, _ = _reply_calls(ctx)
    results: list[dict[str, Any]] = []
    for call in calls:
        if call.id in listed:
            results += _records([listed[call.id]])
        elif call.id == own:
            results += _records(cycle.calls)
        else:
            action = ctx.surface.registry.resolve(call.name)
            results.append({"actionName": action.name if action else call.name, "ok": False, "summary": "not run"})
    return results if calls else _records(cycle.calls)


def _records(calls: list[CallState]) -> list[dict[str, Any]]:
    return [
        {"actionName": call.call.action_name or call.call.named, "ok": call.outcome.ok, "summary": call.outcome.summary}
        for call in calls
        if call.outcome is not None
    ]


def _observation(call: CallState | None, otherwise: str = CALL_AGAIN_ALONE) -> str:
    return call.outcome.observation if call and call.outcome else otherwise


def _one(call: CallState | None) -> list[CallState]:
    return [] if call is None else [call]


def _answer_reply(ctx: RunContext, answer: Callable[[ToolCall], tuple[str, list[CallState]]]) -> bool:
    """Answers the reply's native calls that have no result yet; False where there is none."""
    calls, answered = _reply_calls(ctx)
    open_calls = [call for call in calls if call.id not in answered]
    for call in open_calls:
        text, calls_told = answer(call)
        ctx.transcript.append(result_message(call.id, call.name, text, ctx.state.cycles_started, calls_told))
    return bool(open_calls)


def _reply_calls(ctx: RunContext) -> tuple[list[ToolCall], set[str | None]]:
    """The calls in the latest reply, in call order, and the ids of those that are answered."""
    answered: set[str | None] = set()
    for message in reversed(ctx.state.transcript):
        if message.kind == "decision":
            return message.tool_calls, answered
        answered.add(message.tool_call_id)
    return [], answered
