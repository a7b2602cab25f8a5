"""Plugin: host parts under one name. Data and callables only; host-only behaviour stands behind declared adapters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agrun_wasm.actions.definition import Action
from agrun_wasm.contracts.errors import CompositionInvalid
from agrun_wasm.contracts.policy import PolicyAction, PolicyEntry
from agrun_wasm.skills.skill import Skill


@dataclass(frozen=True)
class Plugin:
    """A bounded composition (2.13). `actions` are what Action and @action make.
    `policy` may tighten, never loosen; `diagnostics` must be JSON."""

    name: str
    version: str
    actions: Sequence[Any] = ()
    skills: Sequence[Skill] = ()
    prompt_sections: Mapping[str, str] = field(default_factory=dict)
    policy: Mapping[str, PolicyAction | PolicyEntry | Mapping[str, Any]] = field(default_factory=dict)
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    requires_capabilities: Sequence[str] = ()
    requires_adapters: Sequence[str] = ()

    def __post_init__(self) -> None:
        try:
            json.dumps(dict(self.diagnostics), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise CompositionInvalid(f"plugin {self.name!r}: 'diagnostics' must be JSON ({error})") from None

    def own_actions(self) -> list[Action]:
        """The actions, labelled with where they come from."""
        for action in self.actions:
            if not isinstance(action, Action):
                kind = type(action).__name__
                raise CompositionInvalid(f"plugin {self.name!r}: 'actions' takes what Action makes, not {kind}")
            action.origin = f"plugin {self.name}"
        return list(self.actions)
