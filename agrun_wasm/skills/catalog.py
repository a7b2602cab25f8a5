"""The catalog: a runtime's skills by name, and what skillPolicy says of them and their tools. Rules: 2.6, 2.9.

Names are compared without regard to case. Knows nothing of actions or a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.contracts.naming import did_you_mean
from agrun_wasm.contracts.policy import PolicyAction, PolicyEntry
from agrun_wasm.skills.document import same_form
from agrun_wasm.skills.skill import Skill
from agrun_wasm.skills.tools import SkillTool

#: the registered action that a name or an alias stands for, None where there is none
ResolveAction = Callable[[str], str | None]


def duplicate_names(skills: Iterable[Skill]) -> list[str]:
    """Names that more than one of the skills bears."""
    seen: set[str] = set()
    twice: list[str] = []
    for skill in skills:
        key = _key(skill.name)
        if key in seen and skill.name not in twice:
            twice.append(skill.name)
        seen.add(key)
    return twice


class SkillCatalog:
    """Skills in their order of registration.

    Raises CONFIG_INVALID for two skills of one name, and for a name in `policy` that is none of theirs, unless the
    catalog `may_grow` (there are skill sources whose skills are not known yet).
    """

    def __init__(
        self,
        skills: Sequence[Skill],
        policy: Mapping[str, PolicyAction | PolicyEntry] | None = None,
        *,
        may_grow: bool = False,
    ) -> None:
        if twice := duplicate_names(skills):
            raise ConfigInvalid(f"skills: the name {twice[0]!r} is used by more than one skill")
        self._skills = {_key(skill.name): skill for skill in skills}
        self._policy: dict[tuple[str, str | None], PolicyEntry] = {}
        for name, value in (policy or {}).items():
            target = self._policy_target(name)
            if target is not None:
                self._policy[target] = value if isinstance(value, PolicyEntry) else PolicyEntry(action=value)
            elif not may_grow:
                raise ConfigInvalid(f"skillPolicy: unknown skill {name!r}{did_you_mean(name, self._policy_names())}")

    def __iter__(self) -> Iterator[Skill]:
        return iter(self._skills.values())

    def __len__(self) -> int:
        return len(self._skills)

    def get(self, name: str) -> Skill | None:
        return self._skills.get(_key(name))

    def visible(self) -> list[Skill]:
        """The skills that are not denied."""
        return [skill for skill in self if not self.is_denied(skill)]

    def get_visible(self, name: str) -> Skill | None:
        skill = self.get(name)
        return None if skill is None or self.is_denied(skill) else skill

    def is_denied(self, skill: Skill, tool: str | None = None) -> bool:
        entry = self.policy_of(skill, tool)
        return entry is not None and entry.action == "deny"

    def policy_of(self, skill: Skill, tool: str | None = None) -> PolicyEntry | None:
        """The skill's entry, or that of one of its tools: its own, else the skill's; a denied skill stays denied."""
        whole = self._policy.get((_key(skill.name), None))
        if tool is None or (whole is not None and whole.action == "deny"):
            return whole
        return self._policy.get((_key(skill.name), tool), whole)

    def permitted_tools(self, skill: Skill) -> dict[str, SkillTool]:
        """The skill's tools that are not denied."""
        return {name: tool for name, tool in skill.tools.items() if not self.is_denied(skill, name)}

    def summaries(self) -> list[dict[str, Any]]:
        """The visible skills as actions see them in their context."""
        return [
            {"name": skill.name, "description": skill.description, "tools": list(self.permitted_tools(skill))}
            for skill in self.visible()
        ]

    def unknown(self, name: str) -> str:
        """What to say of a name that is no visible skill's."""
        names = [skill.name for skill in self.visible()]
        return f"there is no skill {name!r}{did_you_mean(name, names)} (skills: {', '.join(names) or 'none'})"

    def _policy_target(self, name: str) -> tuple[str, str | None] | None:
        if self.get(name) is not None:
            return _key(name), None
        skill_name, _, tool = name.rpartition(".")
        skill = self.get(skill_name)
        if skill is None or not tool:
            return None
        # The tools of an untrusted skill, or of one whose tools.py failed, are not known by name.
        return (_key(skill_name), tool) if tool in skill.tools or not skill.tools else None

    def _policy_names(self) -> list[str]:
        return [name for skill in self for name in (skill.name, *(f"{skill.name}.{tool}" for tool in skill.tools))]


def _key(name: str) -> str:
    return same_form(name.strip()).casefold()
