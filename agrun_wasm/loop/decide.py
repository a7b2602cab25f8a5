"""Decide: asks the model until there is a valid decision, a failure, or too many invalid ones. Rules: document 2, 2.3.

An invalid decision costs no step: the same cycle asks again. Envelope mode has one repair call for each.
"""

from __future__ import annotations

from typing import NamedTuple

from agrun_wasm.contracts.decision import Decision, FinalDecision
from agrun_wasm.contracts.errors import ErrorInfo, ProviderError
from agrun_wasm.contracts.model import Message, ModelReply, ModelRequest
from agrun_wasm.loop.budget import out_of_budget
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.model_call import call_model
from agrun_wasm.loop.orient import orient
from agrun_wasm.loop.outcome import Failed, OutOfBudget
from agrun_wasm.planner.envelope import InvalidDecision
from agrun_wasm.planner.messages import decision_message, observation_message, result_message
from agrun_wasm.planner.reading import Read, preview, read_envelope_reply, read_native_reply
from agrun_wasm.text.shorten import cut_middle


async def decide(ctx: RunContext) -> Failed | OutOfBudget | None:
    """Sets the cycle's decision and spends its step. Raises ProviderError, Stopped, DeadlineReached."""
    cycle = ctx.cycle
    while cycle.decision is None:
        request = orient(ctx)
        reply = await _ask(ctx, request)
        if reply is None:
            continue  # fallen back to envelope mode; the same cycle asks again
        found = await _read(ctx, request, reply)
        if isinstance(found, OutOfBudget):
            return found
        if isinstance(found, _Rejected):
            if failed := _reject(ctx, found):
                return failed
            if spent := out_of_budget(ctx):
                return spent
            continue
        _accept(ctx, found)
    return None


class _Accepted(NamedTuple):
    """A decision and the reply that it stood in: the repair's, where there was one."""

    decision: Decision
    reply: ModelReply


class _Rejected(NamedTuple):
    """The last reply, which is no decision, and why."""

    reply: ModelReply
    fault: InvalidDecision


def _accept(ctx: RunContext, accepted: _Accepted) -> None:
    cycle, decision = ctx.cycle, accepted.decision
    ctx.state.loop_state.invalid_decisions = 0
    if message := decision_message(accepted.reply, cycle.cycle):
        ctx.transcript.append(message)
    if ctx.streamed and not (isinstance(decision, FinalDecision) and decision.from_text):
        ctx.supersede("the text was not the answer")
    cycle.decision = decision
    cycle.phase = "decided"
    ctx.state.budgets.steps_left -= 1


async def _ask(ctx: RunContext, request: ModelRequest) -> ModelReply | None:
    """The planner's reply; None after falling back to envelope mode."""
    native = ctx.state.planner_mode == "native_tools"
    ctx.emit("planner-requested", mode=ctx.state.planner_mode, messages=len(request.messages), tools=len(request.tools))
    try:
        reply = await call_model(ctx, request, shown=native)
    except ProviderError as error:
        if not (native and error.protocol_failure) or ctx.config.native_tools_failure_policy == "hard_fail":
            raise
        ctx.emit("planner-mode-fallback", reason=ctx.ports.redactor.text(error.message))
        ctx.state.planner_mode = "envelope"
        return None
    return reply


def _read_reply(ctx: RunContext, reply: ModelReply) -> Read:
    if ctx.state.planner_mode == "native_tools":
        return read_native_reply(ctx.surface, ctx.state, reply)
    return read_envelope_reply(ctx.surface, ctx.state, reply.text)


async def _read(ctx: RunContext, request: ModelRequest, reply: ModelReply) -> _Accepted | _Rejected | OutOfBudget:
    """The decision in the reply, or in its one repair; a spent budget allows no repair."""
    responded = {"finish": reply.finish, "toolCalls": [call.name for call in reply.tool_calls]}
    try:
        read = _read_reply(ctx, reply)
    except InvalidDecision as found:
        fault = found
    else:
        ctx.emit("planner-responded", **responded, **read.notes())
        return _Accepted(read.decision, reply)
    ctx.emit("planner-responded", **responded)
    if ctx.state.planner_mode == "native_tools":
        return _Rejected(reply, fault)
    if spent := out_of_budget(ctx):
        return spent
    ctx.emit("planner-repair-requested", reason=fault.reason, error=fault.message)
    repaired = await call_model(ctx, _repair_request(request, reply, fault), shown=False)
    try:
        read = _read_reply(ctx, repaired)
    except InvalidDecision as found:
        ctx.emit("planner-repair-completed", ok=False)
        return _Rejected(repaired, found)
    ctx.emit("planner-repair-completed", ok=True, **read.notes())
    return _Accepted(read.decision, repaired)


def _repair_request(request: ModelRequest, reply: ModelReply, fault: InvalidDecision) -> ModelRequest:
    asked = [Message(role="assistant", kind="decision", text=reply.text)] if reply.text.strip() else []
    text = f"That reply is no decision: {fault.message}\nReply again with exactly one JSON object in one of the forms."
    asked.append(Message(role="user", kind="observation", text=text))
    return request._replace(purpose="repair", messages=(*request.messages, *asked))


def _reject(ctx: RunContext, rejected: _Rejected) -> Failed | None:
    """Counts an invalid decision and tells the model; the failure when it was one too many."""
    reply, fault = rejected.reply, rejected.fault
    counters = ctx.state.loop_state
    counters.invalid_decisions += 1
    ctx.emit("planner-invalid-decision", reason=fault.reason, preview=preview(reply.text, reply.tool_calls))
    ctx.supersede("the reply was no decision")
    if counters.invalid_decisions >= ctx.config.max_invalid_decisions:
        last = f"{fault.reason}: {fault.message}"
        return Failed(
            ErrorInfo(
                code="PLANNER_OUTPUT_INVALID",
                message=f"{counters.invalid_decisions} invalid decisions in a row; the last: {last}",
                hint="Use a model that follows the format or calls tools, or raise maxInvalidDecisions.",
                details={"reason": fault.reason},
            )
        )
    cycle = ctx.cycle.cycle
    if message := decision_message(reply, cycle):
        ctx.transcript.append(
            message.model_copy(update={"text": cut_middle(message.text, ctx.config.tool_result_chars)})
        )
    names = ", ".join(action.name for action in ctx.surface.offered(ctx.state))
    text = f"Invalid decision ({fault.reason}): {fault.message}"
    if names and "valid names" not in text:
        text += f"; valid names: {names}"
    if reply.tool_calls:
        for call in reply.tool_calls:
            ctx.transcript.append(result_message(call.id, call.name, text, cycle))
    else:
        ctx.transcript.append(observation_message(text, cycle))
    return None
