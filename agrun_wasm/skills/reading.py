"""list_agent_skills, read_agent_skill, read_skill_resource: what a skill says, without activating it. Rules: 2.9."""

from __future__ import annotations

from typing import Any

from agrun_wasm.actions.definition import Prepared, Refused
from agrun_wasm.contracts.effects import SkillRead
from agrun_wasm.contracts.naming import did_you_mean
from agrun_wasm.contracts.policy import PolicyEntry
from agrun_wasm.contracts.state import RunState
from agrun_wasm.skills.allowed import offered_tools
from agrun_wasm.skills.catalog import ResolveAction, SkillCatalog
from agrun_wasm.skills.document import same_form
from agrun_wasm.skills.resources import path_inside, window_of
from agrun_wasm.skills.skill import DOCUMENT_FILE, Skill


def text_arg(args: dict[str, Any], key: str) -> str | None:
    """An optional text argument; blank is "not given"."""
    value = args.get(key)
    return value.strip() or None if isinstance(value, str) else None


def has_read(state: RunState, catalog: SkillCatalog, skill: Skill) -> bool:
    return any(catalog.get(name) is skill for name in state.agent_skill_context.read)


def deny_only(entry: PolicyEntry | None) -> PolicyEntry | None:
    """Reading is never asked about; only a denied skill cannot be read."""
    return entry if entry is not None and entry.action == "deny" else None


class ListSkills:
    """Names and descriptions of the visible skills, those that share a word with `query` where one is given."""

    def __init__(self, catalog: SkillCatalog) -> None:
        self._catalog = catalog

    def prepare(self, _state: RunState, args: dict[str, Any]) -> Prepared | Refused:
        if args.get("limit") is not None and args["limit"] < 1:
            return Refused("'limit' must be at least 1")
        return Prepared(args)

    async def execute(self, _context: Any, args: dict[str, Any]) -> dict[str, Any]:
        visible = self._catalog.visible()
        words = (text_arg(args, "query") or "").casefold().split()
        hits = {s.name: sum(word in f"{s.name} {s.description}".casefold() for word in words) for s in visible}
        chosen = sorted((s for s in visible if hits[s.name]), key=lambda s: -hits[s.name]) if words else visible
        limit = args.get("limit")
        shown = chosen if limit is None else chosen[: int(limit)]
        return {
            "control": "continue",
            "output": {
                "kind": "agent_skill_list",
                "skills": [{"name": skill.name, "description": skill.description} for skill in shown],
                "total": len(visible),
            },
            "summary": f"{len(shown)} of {len(visible)} skills",
            "effects": [],
        }


class ReadSkill:
    """A skill's instructions, what its tools take, and the paths of its resources."""

    def __init__(self, catalog: SkillCatalog, resolve: ResolveAction) -> None:
        self._catalog = catalog
        self._resolve = resolve

    def gate(self, _state: RunState, args: dict[str, Any]) -> PolicyEntry | None:
        skill = self._catalog.get(text_arg(args, "skillName") or "")
        return deny_only(self._catalog.policy_of(skill)) if skill else None

    def prepare(self, _state: RunState, args: dict[str, Any]) -> Prepared | Refused:
        skill = self._catalog.get_visible(args["skillName"])
        if skill is None:
            return Refused(self._catalog.unknown(args["skillName"]))
        return Prepared({**args, "skillName": skill.name})

    async def execute(self, _context: Any, args: dict[str, Any]) -> dict[str, Any]:
        skill = self._catalog.get_visible(args["skillName"])
        if skill is None:
            raise LookupError(self._catalog.unknown(args["skillName"]))
        output: dict[str, Any] = {"kind": "agent_skill", "name": skill.name, "description": skill.description}
        if skill.compatibility:
            output["compatibility"] = skill.compatibility
        output["tools"] = [tool.describe() for tool in offered_tools(self._catalog, skill, self._resolve).values()]
        if skill.has_tools_file and not skill.trusted:
            output["note"] = "The tools of this skill are not trusted here and cannot be run; its instructions apply."
        if skill.resources:
            output["resources"] = sorted(skill.resources)
        output["instructions"] = skill.body
        return {
            "control": "continue",
            "output": output,
            "summary": f"read skill {skill.name}",
            "effects": [SkillRead(skill.name)],
        }


class ReadResource:
    """A file of a skill, or a window of its lines."""

    def __init__(self, catalog: SkillCatalog) -> None:
        self._catalog = catalog

    def gate(self, state: RunState, args: dict[str, Any]) -> PolicyEntry | None:
        skill = self._catalog.get(self._skill_name(state, args) or "")
        return deny_only(self._catalog.policy_of(skill)) if skill else None

    def prepare(self, state: RunState, args: dict[str, Any]) -> Prepared | Refused:
        name = self._skill_name(state, args)
        if name is None:
            return Refused("no skill is active and none has been read; read one first with read_agent_skill")
        skill = self._catalog.get_visible(name)
        if skill is None:
            return Refused(self._catalog.unknown(name))
        active = self._catalog.get(state.agent_skill_context.active or "")
        if skill is not active and not has_read(state, self._catalog, skill):
            return Refused(f"the skill {skill.name!r} has not been read; read it first with read_agent_skill")
        for key in ("startLine", "maxLines"):
            if args.get(key) is not None and args[key] < 1:
                return Refused(f"{key!r} must be at least 1")
        path = _resource_path(skill, args["path"])
        if isinstance(path, Refused):
            return path
        return Prepared({**args, "skillName": skill.name, "path": path})

    async def execute(self, _context: Any, args: dict[str, Any]) -> dict[str, Any]:
        skill = self._catalog.get_visible(args["skillName"])
        if skill is None:
            raise LookupError(self._catalog.unknown(args["skillName"]))
        limit = args.get("maxLines")
        window = window_of(
            skill.resources[args["path"]], int(args.get("startLine") or 1), None if limit is None else int(limit)
        )
        return {
            "control": "continue",
            "output": {
                "kind": "skill_resource",
                "skill": skill.name,
                "path": args["path"],
                "startLine": window.start_line,
                "endLine": window.end_line,
                "totalLines": window.total_lines,
                "text": window.text,
            },
            "summary": f"read {args['path']} of skill {skill.name}",
            "effects": [],
        }

    @staticmethod
    def _skill_name(state: RunState, args: dict[str, Any]) -> str | None:
        context = state.agent_skill_context
        return text_arg(args, "skillName") or context.active or context.last_read


def _resource_path(skill: Skill, asked: str) -> str | Refused:
    """The skill's own path for what was asked, or why there is none."""
    path = path_inside(asked)
    if path is None:
        return Refused(f"path_outside_skill: {asked!r} leads out of the skill {skill.name!r}")
    for known in skill.resources:
        if same_form(known) == same_form(path):
            return known
    if path == DOCUMENT_FILE:
        return Refused(f"the instructions of {skill.name!r} come with read_agent_skill")
    paths = sorted(skill.resources)
    listed = ", ".join(paths[:20]) or "none"
    return Refused(f"the skill {skill.name!r} has no file {path!r}{did_you_mean(path, paths)} (files: {listed})")
