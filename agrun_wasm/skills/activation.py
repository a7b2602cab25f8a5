"""use_agent_skill and handoff_to_skill: which skill is active. Rules: document 2, 2.9.

They ask for a change of state by their effects and change nothing themselves.
"""

from __future__ import annotations

from typing import Any

from agrun_wasm.actions.definition import Prepared, Refused
from agrun_wasm.contracts.effects import HandoffCycle, SkillActivated, SkillHandoff
from agrun_wasm.contracts.policy import PolicyEntry
from agrun_wasm.contracts.state import RunState
from agrun_wasm.skills.catalog import SkillCatalog
from agrun_wasm.skills.reading import has_read, text_arg

#: what a handoff can trim of what later model calls are shown
FILTERED = ("actionHistory", "toolHistory", "readSources", "searchResults")

_KEPT = {"type": "object", "properties": {"keepLast": {"type": "integer", "required": True}}}
INPUT_FILTER = {
    "type": "object",
    "description": "What of the work so far later steps are shown: how many of the latest entries of each list.",
    "properties": dict.fromkeys(FILTERED, _KEPT),
}


class UseSkill:
    """Activates a skill that was read, the one read last where none is named."""

    def __init__(self, catalog: SkillCatalog) -> None:
        self._catalog = catalog

    def gate(self, state: RunState, args: dict[str, Any]) -> PolicyEntry | None:
        skill = self._catalog.get(text_arg(args, "skillName") or state.agent_skill_context.last_read or "")
        return self._catalog.policy_of(skill) if skill else None

    def prepare(self, state: RunState, args: dict[str, Any]) -> Prepared | Refused:
        name = text_arg(args, "skillName") or state.agent_skill_context.last_read
        if name is None:
            return Refused("no skill has been read yet; read one first with read_agent_skill")
        skill = self._catalog.get_visible(name)
        if skill is None:
            return Refused(self._catalog.unknown(name))
        if not has_read(state, self._catalog, skill):
            return Refused(f"the skill {skill.name!r} has not been read; read it first with read_agent_skill")
        return Prepared({**args, "skillName": skill.name})

    async def execute(self, _context: Any, args: dict[str, Any]) -> dict[str, Any]:
        name = args["skillName"]
        return {
            "control": "continue",
            "output": {"kind": "agent_skill_activated", "skill": name},
            "summary": f"skill {name} is active",
            "effects": [SkillActivated(name)],
        }


class HandOff:
    """Makes another skill the active one and says what it is told. A target of the chain ends the run."""

    def __init__(self, catalog: SkillCatalog) -> None:
        self._catalog = catalog

    def gate(self, _state: RunState, args: dict[str, Any]) -> PolicyEntry | None:
        skill = self._catalog.get(text_arg(args, "skillName") or "")
        return self._catalog.policy_of(skill) if skill else None

    def prepare(self, _state: RunState, args: dict[str, Any]) -> Prepared | Refused:
        skill = self._catalog.get_visible(args["skillName"])
        if skill is None:
            return Refused(self._catalog.unknown(args["skillName"]))
        for name, keep_last in keep_last_of(args).items():
            if keep_last < 0:
                return Refused(f"'inputFilter.{name}.keepLast' must be 0 or more")
        return Prepared({**args, "skillName": skill.name})

    async def execute(self, context: Any, args: dict[str, Any]) -> dict[str, Any]:
        state: RunState = context.state
        name, chain = args["skillName"], state.agent_skill_context.handoff_chain
        target = self._catalog.get(name)
        if any(self._catalog.get(earlier) is target for earlier in chain):
            return {
                "control": "continue",
                "output": {"kind": "agent_skill_handoff", "ok": False, "error": "agent_handoff_cycle_detected"},
                "summary": f"skill {name} already stands in the handoff chain",
                "effects": [HandoffCycle([*chain, name])],
            }
        return {
            "control": "continue",
            "output": {"kind": "agent_skill_handoff", "skill": name},
            "summary": f"handed off to skill {name}",
            "effects": [SkillHandoff(name, text_arg(args, "handoffContext"), keep_last_of(args))],
        }


def keep_last_of(args: dict[str, Any]) -> dict[str, int]:
    """`inputFilter` as list name -> how many of its latest entries stay shown."""
    trims = args.get("inputFilter") or {}
    return {name: int(trims[name]["keepLast"]) for name in FILTERED if isinstance(trims.get(name), dict)}
