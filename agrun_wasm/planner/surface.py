"""The surface: which actions the planner is offered at a moment, and why another one is not.

Prompt, tools and the valid names told to the model all come from here. Rules: document 2, 2.4 Registry, 2.6, 2.13.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from agrun_wasm.actions.definition import Action
from agrun_wasm.actions.policy import action_decision
from agrun_wasm.actions.registry import Registry
from agrun_wasm.contracts.action import PlannerActionInfo
from agrun_wasm.contracts.config import RuntimeConfig
from agrun_wasm.contracts.policy import PolicyDecision, PolicyEntry
from agrun_wasm.contracts.state import RunState
from agrun_wasm.skills.allowed import narrowing
from agrun_wasm.skills.catalog import SkillCatalog
from agrun_wasm.workspace.narrowing import withheld


@dataclass
class Surface:
    """A runtime's actions with what switches them off.

    `off` maps an action to why it is disabled for the whole runtime; `plugin_policy` an action to the plugin that
    tightens it; `sections` are the plugins' prompt sections by id (plugin, text); `capabilities` maps each capability
    to why it is inactive, or None.
    """

    config: RuntimeConfig
    registry: Registry
    catalog: SkillCatalog
    off: Mapping[str, str]
    plugin_policy: Mapping[str, tuple[str, PolicyEntry]]
    sections: Mapping[str, tuple[str, str]]
    capabilities: Mapping[str, str | None]
    _decisions: dict[str, PolicyDecision] = field(default_factory=dict, repr=False)

    def policy(self, action: Action) -> PolicyDecision:
        """The action's policy before any call."""
        decision = self._decisions.get(action.name)
        if decision is None:
            decision = action_decision(action, self.config.action_policy, self.plugin_policy)
            self._decisions[action.name] = decision
        return decision

    def disabled(self, action: Action, state: RunState | None) -> str | None:
        """Why a call of this action is `disabled_action`, or None."""
        if action.name in self.off:
            return self.off[action.name]
        return None if state is None or self._moment(state)(action) else "not available at this moment"

    def available(self, state: RunState | None) -> list[Action]:
        """Planner-visible actions that are not disabled, denied ones included."""
        here = self._moment(state) if state is not None else _anything
        return [a for a in self.registry if a.planner is not None and a.name not in self.off and here(a)]

    def _moment(self, state: RunState) -> Callable[[Action], bool]:
        """What the state leaves of the surface: narrowing by patches, by the active skill, and by an action itself."""
        kept_back = withheld(state.loop_state, self._standing) if state.loop_state.narrowed_path else frozenset()
        allowed = narrowing(self.catalog, state, self.registry.name_of) if state.agent_skill_context.active else None

        def here(action: Action) -> bool:
            if action.name in kept_back or (allowed is not None and action.name not in allowed and not _always(action)):
                return False
            extras = action.built_in
            return extras is None or extras.offered is None or extras.offered(state)

        return here

    @cached_property
    def _standing(self) -> list[str]:
        """Names that are offered where the state narrows nothing."""
        return [action.name for action in self.offered(None)]

    def offered(self, state: RunState | None) -> list[Action]:
        """What the planner is shown: available and not denied."""
        return [action for action in self.available(state) if self._allowed(action)]

    def _allowed(self, action: Action) -> bool:
        return self.policy(action).action != "deny"

    def list_for_planner(self, state: RunState | None = None) -> list[PlannerActionInfo]:
        return [
            PlannerActionInfo(**action.info().model_dump(), planner=action.planner)
            for action in self.offered(state)
            if action.planner is not None
        ]


def _anything(_action: Action) -> bool:
    return True


def _always(action: Action) -> bool:
    """While a skill narrows the surface, the skill actions and the decision tools stay (2.9)."""
    return action.built_in is not None and action.built_in.capability in ("skills", "handoff", "clarification")
