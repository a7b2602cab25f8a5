"""How a finished call can end the run: an effect that ends it, `complete`, or a final tool result. Rules: 2.4, 2.9.

Used in call order for batches, in declaration order for plans.
"""

from __future__ import annotations

from collections.abc import Iterable

from agrun_wasm.actions.protocol import completed_text
from agrun_wasm.contracts.effects import HandoffCycle, Published, QuestionAsked
from agrun_wasm.contracts.errors import ErrorInfo
from agrun_wasm.contracts.state import CallState
from agrun_wasm.loop.calls import Effects
from agrun_wasm.loop.context import RunContext
from agrun_wasm.loop.dispatch import where_of
from agrun_wasm.loop.outcome import Answer, Blocked, Failed, Outcome
from agrun_wasm.skills.final import DirectFinal, Skipped, direct_final, direct_final_text


def ending_effect(call: CallState, effects: Effects) -> Outcome | None:
    """The end that a built-in asked for."""
    for effect in effects.get(call.sequence_id, ()):
        if isinstance(effect, QuestionAsked):
            output = {"kind": "clarification", "question": effect.question, "text": effect.question}
            return Blocked(output, "ask_clarification")
        if isinstance(effect, Published):
            fields = {} if effect.limited is None else {"limited": effect.limited}
            return Answer(text=effect.text, source="workspace_publish", fields=fields)
        if isinstance(effect, HandoffCycle):
            chain = " -> ".join(effect.chain)
            return Failed(
                ErrorInfo(
                    code="HANDOFF_CYCLE",
                    message=f"the skill {effect.chain[-1]!r} already stands in the handoff chain ({chain})",
                    hint="Let one of the skills finish the work instead of handing it back.",
                    details={"reason": "agent_handoff_cycle_detected", "chain": list(effect.chain)},
                )
            )
    return None


def completed(call: CallState) -> Answer | None:
    """The answer of a call whose action said `complete`."""
    outcome = call.outcome
    if outcome is None or not outcome.has_output or outcome.control != "complete":
        return None
    text, fields = completed_text(outcome.output)
    return Answer(text=text, source="action", fields=fields)


def final_result(ctx: RunContext, call: CallState, key: str | None) -> Answer | None:
    """The answer that a final tool result is; with the steps about it, also where it may not end the run (2.9)."""
    found = _direct_final(ctx, call, key)
    if found is None:
        return None
    if found.problems:
        ctx.state.diagnostics["directFinal"] = found.problems
    ctx.emit("direct-final-emitted", reason="direct-emit-final", **where_of(call, key))
    return Answer(text=direct_final_text(found), source="direct_final")


def final_section(ctx: RunContext, call: CallState, key: str | None) -> str | None:
    """The Markdown of a final tool result, where it is to be a section and no end."""
    found = _direct_final(ctx, call, key)
    return found.markdown if found else None


def _direct_final(ctx: RunContext, call: CallState, key: str | None) -> DirectFinal | None:
    outcome = call.outcome
    if outcome is None or not outcome.has_output:
        return None
    skill = ctx.surface.catalog.get(_skill_of(outcome.output))
    tool = skill.tools.get(str(outcome.output.get("tool"))) if skill else None
    found = direct_final(outcome.output, tool)
    if isinstance(found, Skipped):
        ctx.emit("direct-final-skipped", reason=found.reason, **where_of(call, key))
        return None
    return found


def first_ending(ctx: RunContext, calls: Iterable[CallState], key: str | None, effects: Effects) -> Outcome | None:
    """The first end among finished calls, in call order."""
    for call in calls:
        found = ending_effect(call, effects) or completed(call) or final_result(ctx, call, key)
        if found is not None:
            return found
    return None


def _skill_of(output: object) -> str:
    return str(output.get("skill")) if isinstance(output, dict) else ""
