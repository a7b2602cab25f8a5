"""Applying what built-in actions ask to change; the only writer of their slots. A table from effect to change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agrun_wasm.contracts.effects import (
    EffectOnState,
    HandoffCycle,
    PatchPreviewed,
    Published,
    QuestionAsked,
    SearchDone,
    SkillActivated,
    SkillHandoff,
    SkillRead,
    SourceRead,
    WorkspaceChanged,
    WorkspaceGrown,
)
from agrun_wasm.loop.context import RunContext
from agrun_wasm.research.sources import add_read, add_search_results
from agrun_wasm.workspace.narrowing import record_growth, record_preview


def apply_effects(ctx: RunContext, effects: tuple[EffectOnState, ...]) -> None:
    """Applies effects in order. Those that end the run (a question, a publication, a handoff cycle) change nothing."""
    for effect in effects:
        if type(effect) not in _ENDS:
            _CHANGES[type(effect)](ctx, effect)


def _search_done(ctx: RunContext, effect: SearchDone) -> None:
    add_search_results(ctx.state.research_context, effect.results)


def _source_read(ctx: RunContext, effect: SourceRead) -> None:
    add_read(ctx.state.research_context, effect.result)


def _skill_read(ctx: RunContext, effect: SkillRead) -> None:
    skills = ctx.state.agent_skill_context
    skills.last_read = effect.name
    if effect.name not in skills.read:
        skills.read.append(effect.name)


def _skill_activated(ctx: RunContext, effect: SkillActivated) -> None:
    skills = ctx.state.agent_skill_context
    skills.active = effect.name
    skills.handoff_chain = [effect.name]
    skills.handoff_context = None


def _skill_handoff(ctx: RunContext, effect: SkillHandoff) -> None:
    skills = ctx.state.agent_skill_context
    chain = list(skills.handoff_chain)
    if skills.active is not None and skills.active not in chain:
        chain.append(skills.active)
    skills.handoff_chain = [*chain, effect.name]
    skills.active = effect.name
    skills.handoff_context = effect.context
    # What was there before the handoff, which has been recorded by now and is not counted itself (2.9).
    present = {
        "actionHistory": ctx.state.cycles_started - 1,
        "toolHistory": len(ctx.state.tool_context.history) - 1,
        "readSources": len(ctx.state.research_context.read_sources),
        "searchResults": len(ctx.state.research_context.search_results),
    }
    for name, keep in effect.keep_last.items():
        skills.hidden[name] = max(skills.hidden.get(name, 0), present[name] - keep)


def _workspace_changed(ctx: RunContext, effect: WorkspaceChanged) -> None:
    ctx.state.virtual_workspace = effect.workspace


def _patch_previewed(ctx: RunContext, effect: PatchPreviewed) -> None:
    offered = [action.name for action in ctx.surface.offered(ctx.state)]
    narrowed = record_preview(ctx.state.loop_state, effect.path, effect.blocked, offered)
    if narrowed is not None:
        ctx.emit("workspace-patch-narrowed", path=narrowed, on=True)


def _workspace_grown(ctx: RunContext, _effect: WorkspaceGrown) -> None:
    widened = record_growth(ctx.state.loop_state)
    if widened is not None:
        ctx.emit("workspace-patch-narrowed", path=widened, on=False)


_ENDS = (QuestionAsked, Published, HandoffCycle)
_CHANGES: dict[type, Callable[[RunContext, Any], None]] = {
    SearchDone: _search_done,
    SourceRead: _source_read,
    SkillRead: _skill_read,
    SkillActivated: _skill_activated,
    SkillHandoff: _skill_handoff,
    WorkspaceChanged: _workspace_changed,
    PatchPreviewed: _patch_previewed,
    WorkspaceGrown: _workspace_grown,
}
