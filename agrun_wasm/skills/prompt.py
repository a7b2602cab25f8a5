"""What a model is told of skills: the catalog, and the active skill with what its tools take. Rules: 2.9.

The texts name no action: which actions there are, and what they are called, stands with the actions.
"""

from __future__ import annotations

import json

from agrun_wasm.contracts.state import RunState
from agrun_wasm.skills.allowed import offered_tools
from agrun_wasm.skills.catalog import ResolveAction, SkillCatalog
from agrun_wasm.skills.tools import NON_TERMINAL_KINDS

_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def catalog_section(catalog: SkillCatalog) -> str:
    """The visible skills, a line each; "" where there is none."""
    visible = catalog.visible()
    if not visible:
        return ""
    lines = [f"- {skill.name}: {' '.join(skill.description.split())}" for skill in visible]
    return "Skills that can be read and then activated when one fits the request:\n" + "\n".join(lines)


def active_skill_section(catalog: SkillCatalog, state: RunState, resolve: ResolveAction) -> str:
    """The active skill's instructions and tools; "" where none is active."""
    context = state.agent_skill_context
    skill = catalog.get_visible(context.active) if context.active else None
    if skill is None:
        return ""
    parts = [f"Active skill: {skill.name}\n{skill.body.strip()}"]
    tools = offered_tools(catalog, skill, resolve)
    if tools:
        lines = [
            f"- {tool.name}: {tool.description} Args: {_compact(tool.schema_for_model())}" for tool in tools.values()
        ]
        steps = ", ".join(sorted(NON_TERMINAL_KINDS))
        parts.append("Tools of this skill:\n" + "\n".join(lines))
        parts.append(f"A tool result of resultKind {steps} is a step on the way, not the evidence: go on from it.")
    if skill.resources:
        parts.append("Files of this skill: " + ", ".join(sorted(skill.resources)))
    if context.handoff_context:
        parts.append(f"Handed over with this context: {context.handoff_context}")
    return "\n\n".join(parts)
