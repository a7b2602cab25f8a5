"""Parts of a run that skill cases need: a state in which a skill is active, and a skill made for the case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agrun_wasm.actions.definition import Prepared, Refused
from agrun_wasm.actions.registry import Registry
from agrun_wasm.contracts.request import RunInput
from agrun_wasm.contracts.state import AgentSkillContext, Budgets, RunState
from agrun_wasm.skills.actions import skill_actions
from agrun_wasm.skills.catalog import SkillCatalog
from agrun_wasm.skills.skill import Skill
from agrun_wasm.skills.tool_action import lift_args
from tests.cases.expect import Actual

_DOCUMENT = "---\nname: {name}\ndescription: Made for a case.\n---\nBody\n"
_TOOL = """
from agrun_wasm.skills.tools import skill_tool

def tool(**args):
    return args

tool.__name__ = {name!r}
tool = skill_tool(description="Takes what comes.", parameters={{"type": "object"}})(tool)
"""


def skill_with(name: str, files: Mapping[str, str]) -> Skill:
    return Skill.from_files({"SKILL.md": _DOCUMENT.format(name=name), **files}, trust_tools=True)


def active_state(skill: Skill) -> RunState:
    """The state of a run in which the skill was read and activated."""
    return RunState(
        run_id="run",
        session_id="session",
        request=RunInput(prompt="a case"),
        budgets=Budgets(steps_left=8),
        agent_skill_context=AgentSkillContext(last_read=skill.name, read=[skill.name], active=skill.name),
    )


def prepare(name: str, skill: Skill, args: Mapping[str, Any]) -> Prepared | Refused:
    """The preflight of a skill action, as dispatch asks for it."""
    registry = Registry(skill_actions(SkillCatalog([skill]), reserved=lambda _: None))
    action = registry.get(name)
    assert action is not None
    assert action.built_in is not None
    assert action.built_in.prepare is not None
    return action.built_in.prepare(active_state(skill), dict(args))


async def prepared(name: str, args: Mapping[str, Any]) -> Actual:
    """The arguments of execute_skill_tool after its preflight, on a skill with that tool, which takes what comes."""
    tool = _TOOL.format(name=args.get("toolName", "tool"))
    done = prepare(name, skill_with(args.get("skillName") or "demo", {"tools.py": tool}), args)
    dropped = list(lift_args(args).dropped)
    if isinstance(done, Refused):
        facts = {"key": done.key, "reason": done.reason, "actionName": name, "dropped": dropped}
        return Actual(error="action-args-invalid", message=done.error, facts=facts)
    return Actual(done.args, facts={"dropped": dropped})
