"""The six skill actions as the registry takes them. The table is document 2's, 2.4 Built-ins; the rules are 2.9's."""

from __future__ import annotations

from typing import Any

from agrun_wasm.actions.definition import Action, BuiltIn
from agrun_wasm.skills.activation import INPUT_FILTER, HandOff, UseSkill
from agrun_wasm.skills.catalog import ResolveAction, SkillCatalog
from agrun_wasm.skills.reading import ListSkills, ReadResource, ReadSkill
from agrun_wasm.skills.tool_action import NAME as EXECUTE_TOOL
from agrun_wasm.skills.tool_action import ExecuteTool

_SKILL_NAME = {"type": "string", "required": True}

#: name -> capability, effect, isReadOnly, isConcurrencySafe, standalone, aliases
_TABLE: dict[str, tuple[str, str, bool, bool, bool, list[str]]] = {
    "list_agent_skills": ("skills", "skill_catalog", True, True, True, []),
    "read_agent_skill": ("skills", "skill_catalog", True, True, True, []),
    "read_skill_resource": ("skills", "skill_catalog", True, True, False, []),
    "use_agent_skill": ("skills", "runtime_state", False, False, True, ["use_skill", "activate_skill"]),
    "execute_skill_tool": ("skills", "skill_tool", False, True, False, []),
    "handoff_to_skill": ("handoff", "runtime_state", False, False, True, ["transfer_to_skill"]),
}


def skill_actions(catalog: SkillCatalog, *, reserved: ResolveAction) -> list[Action]:
    """The actions over one catalog. `reserved` gives the registered action that a name or an alias stands for."""
    return [
        _action(
            "list_agent_skills",
            "List the agent skills there are, by name and description.",
            "When it is not clear which skill fits.",
            {"query": {"type": "string"}, "limit": {"type": "integer"}},
            {},
            ListSkills(catalog),
        ),
        _action(
            "read_agent_skill",
            "Read the instructions of one agent skill, and what its tools take.",
            "Before a skill is activated, when its description fits the request.",
            {"skillName": _SKILL_NAME},
            {"skillName": "skill-name"},
            ReadSkill(catalog, reserved),
        ),
        _action(
            "read_skill_resource",
            "Read a file of an agent skill, whole or a window of its lines.",
            "When the skill's instructions point to one of its files.",
            {
                "skillName": {"type": "string", "description": "Left out: the active skill, else the one read last."},
                "path": {"type": "string", "required": True},
                "startLine": {"type": "integer", "description": "First line, from 1."},
                "maxLines": {"type": "integer"},
            },
            {"path": "references/guide.md"},
            ReadResource(catalog),
        ),
        _action(
            "use_agent_skill",
            "Activate an agent skill that was read, for the rest of the run.",
            "After reading the skill, when its instructions fit the request.",
            {"skillName": {"type": "string", "description": "The skill read last, if left out."}},
            {"skillName": "skill-name"},
            UseSkill(catalog),
        ),
        _action(
            EXECUTE_TOOL,
            "Run one tool of the active agent skill.",
            "Only for tools of the active skill, with the arguments that the tool declares.",
            {
                "skillName": {"type": "string", "description": "The active skill; may be left out."},
                "toolName": {"type": "string", "required": True},
                "args": {"type": "object", "description": "The tool's own arguments."},
            },
            {"toolName": "tool_name", "args": {}},
            ExecuteTool(catalog, reserved),
        ),
        _action(
            "handoff_to_skill",
            "Hand the work over to another agent skill, which becomes the active one.",
            "When the next phase belongs to another skill; handoffContext says what is done and what is left.",
            {
                "skillName": _SKILL_NAME,
                "handoffContext": {"type": "string"},
                "inputFilter": INPUT_FILTER,
            },
            {"skillName": "skill-name", "handoffContext": "What was done, and what is left to do."},
            HandOff(catalog),
        ),
    ]


def _action(
    name: str, description: str, guidance: str, schema: dict[str, Any], example: dict[str, Any], behaviour: Any
) -> Action:
    capability, effect, read_only, concurrency_safe, standalone, aliases = _TABLE[name]
    return Action(
        name,
        description,
        0,
        planner={
            "aliases": aliases,
            "argsExample": example,
            "argsSchema": schema,
            "guidance": guidance,
            "standalone": standalone,
        },
        permission={
            "effect": effect,
            "interruptBehavior": "abort_safe",
            "isConcurrencySafe": concurrency_safe,
            "isDestructive": False,
            "isReadOnly": read_only,
            "needsApproval": False,
        },
        execute=behaviour.execute,
        origin="built-in",
        built_in=BuiltIn(
            capability=capability, prepare=behaviour.prepare, gate=getattr(behaviour, "gate", None), offered=None
        ),
    )
