"""What an action sees while it works: a narrow, read-only view of the run. Rules: document 2, 2.4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from agrun_wasm.contracts.ports import CancelToken
from agrun_wasm.contracts.state import RunState


class _NeverCancelled:
    """The cancel token of a context that belongs to no run."""

    cancelled = False


@dataclass
class ActionContext:
    """Handed to `execute(context, args)`. Everything but the cancel token is JSON, made when it is asked for.

    `idempotency_key` is the same for every attempt at this very call. `adapters` holds those that the action's plugin
    declared. Changing what a property gave changes nothing in the run.
    """

    idempotency_key: str = ""
    cancel: CancelToken = field(default_factory=_NeverCancelled)
    web_search_endpoint: str | None = None
    adapters: Mapping[str, Any] = field(default_factory=dict)
    _state: RunState | None = field(default=None, repr=False)
    _skills: Callable[[], list[dict[str, Any]]] | None = field(default=None, repr=False)
    _export: Callable[[RunState], dict[str, Any]] | None = field(default=None, repr=False)

    @cached_property
    def run_state(self) -> dict[str, Any]:
        """The run's state (2.5) as JSON, in the form of `result.state`, as it was when first asked for."""
        return self._export(self._saved) if self._export is not None else self._saved.to_json()

    @property
    def agent_skills(self) -> list[dict[str, Any]]:
        """The skills that can be used, `{name, description, tools}`."""
        return self._skills() if self._skills is not None else []

    @property
    def request(self) -> dict[str, Any]:
        return self._saved.request.to_json()

    @property
    def search_results(self) -> list[dict[str, Any]]:
        return deepcopy(self._saved.research_context.search_results)

    @property
    def tool_context(self) -> dict[str, Any]:
        return self._saved.tool_context.to_json()

    @property
    def agent_skill_context(self) -> dict[str, Any]:
        return self._saved.agent_skill_context.to_json()

    @property
    def active_agent_skill(self) -> str | None:
        return self._saved.agent_skill_context.active

    @property
    def _saved(self) -> RunState:
        if self._state is None:
            raise RuntimeError("this context belongs to no run, so it has no state to show")
        return self._state

    def to_json(self) -> dict[str, Any]:
        """The whole view under its wire names, for actions on the other side of a border."""
        return {
            "request": self.request,
            "searchResults": self.search_results,
            "toolContext": self.tool_context,
            "agentSkills": self.agent_skills,
            "agentSkillContext": self.agent_skill_context,
            "activeAgentSkill": self.active_agent_skill,
            "runState": self.run_state,
            "webSearchEndpoint": self.web_search_endpoint,
            "idempotencyKey": self.idempotency_key,
        }


class BuiltInContext(ActionContext):
    """What the runtime's own actions get beside it: the state itself, to read and never to write."""

    @property
    def state(self) -> RunState:
        return self._saved
