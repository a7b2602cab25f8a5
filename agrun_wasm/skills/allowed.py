"""allowed-tools: what a skill narrows the surface to while it is active. It never grants anything. Rules: 2.9."""

from __future__ import annotations

from typing import NamedTuple

from agrun_wasm.contracts.state import RunState
from agrun_wasm.skills.catalog import ResolveAction, SkillCatalog
from agrun_wasm.skills.frontmatter import Diagnostic, diagnostic
from agrun_wasm.skills.skill import Skill
from agrun_wasm.skills.tools import SkillTool


class AllowedTools(NamedTuple):
    """The named actions and tools of the skill that are known here, and what was made of every other name."""

    names: frozenset[str]
    diagnostics: tuple[Diagnostic, ...]


def allowed_tools(skill: Skill, resolve: ResolveAction) -> AllowedTools:
    """Reads `Bash(git:*) Read web_search`: a pattern in brackets counts as its name, an unknown name not at all."""
    names: set[str] = set()
    diagnostics: list[Diagnostic] = []
    for entry in skill.allowed_tools:
        name, bracket, _ = entry.partition("(")
        known = resolve(name) or (name if name in skill.tools else None)
        if known is None:
            message = f"allowed-tools names {entry!r}, which is no action or tool here; it is ignored"
            diagnostics.append(diagnostic("allowed_tool_unknown", message))
            continue
        names.add(known)
        if bracket:
            message = f"allowed-tools: the pattern in {entry!r} is not enforced; {known!r} counts as named"
            diagnostics.append(diagnostic("allowed_tool_pattern", message))
    for tool in skill.tools:
        if action := resolve(tool):
            message = f"the tool {tool!r} cannot be called: it is the name or an alias of the action {action!r}"
            diagnostics.append(diagnostic("tool_reserved", message))
    return AllowedTools(frozenset(names), tuple(diagnostics))


def narrowing(catalog: SkillCatalog, state: RunState, resolve: ResolveAction) -> frozenset[str] | None:
    """Names of the actions and tools that the active skill narrows to; None where nothing narrows."""
    active = state.agent_skill_context.active
    skill = catalog.get(active) if active else None
    return (allowed_tools(skill, resolve).names or None) if skill else None


def offered_tools(catalog: SkillCatalog, skill: Skill, resolve: ResolveAction) -> dict[str, SkillTool]:
    """The skill's tools that may be called while it is active: not denied, no action's name, not left out by
    allowed-tools."""
    named = allowed_tools(skill, resolve).names
    return {
        name: tool
        for name, tool in catalog.permitted_tools(skill).items()
        if resolve(name) is None and (not named or name in named)
    }
