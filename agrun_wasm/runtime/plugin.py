"""Plugin: host parts under one name. Data and callables only; host-only behaviour stands behind declared adapters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from agrun_wasm.actions.definition import Action
from agrun_wasm.contracts.errors import CompositionInvalid
from agrun_wasm.contracts.policy import PolicyAction, PolicyEntry
from agrun_wasm.skills.skill import Skill


@dataclass
class Plugin:
    """A bounded composition (2.13). `policy` may tighten, never loosen; `diagnostics` must be JSON.

    Raises COMPOSITION_INVALID, naming plugin and key, for a part of a wrong type.
    """

    name: str
    version: str
    actions: Sequence[Action] = ()
    skills: Sequence[Skill] = ()
    prompt_sections: Mapping[str, str] = field(default_factory=dict)
    policy: Mapping[str, PolicyAction | PolicyEntry | Mapping[str, Any]] = field(default_factory=dict)
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    requires_capabilities: Sequence[str] = ()
    requires_adapters: Sequence[str] = ()

    def __post_init__(self) -> None:
        for key, kind in _PARTS.items():
            value = getattr(self, key)
            if not _holds(value, kind):
                wanted = (
                    f"{kind[0].__name__.lower()} of {kind[1].__name__}" if isinstance(kind, tuple) else kind.__name__
                )
                raise CompositionInvalid(f"plugin {self.name!r:.60}: {key!r} must be a {wanted}")
        try:
            json.dumps(dict(self.diagnostics), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise CompositionInvalid(f"plugin {self.name!r}: 'diagnostics' must be JSON ({error})") from None

    def own_actions(self) -> list[Action]:
        """The actions as this plugin's: labelled copies, since a host may use its own elsewhere."""
        labelled = [copy(action) for action in self.actions]
        for action in labelled:
            action.origin = f"plugin {self.name}"
        return labelled


#: part -> its type, or the type of a container and of what it holds
_PARTS: dict[str, type | tuple[type, type]] = {
    "name": str,
    "version": str,
    "actions": (Sequence, Action),
    "skills": (Sequence, Skill),
    "prompt_sections": (Mapping, str),
    "policy": (Mapping, object),
    "diagnostics": (Mapping, object),
    "requires_capabilities": (Sequence, str),
    "requires_adapters": (Sequence, str),
}


def _holds(value: Any, kind: type | tuple[type, type]) -> bool:
    if not isinstance(kind, tuple):
        return isinstance(value, kind)
    container, member = kind
    if container is Mapping:
        return isinstance(value, Mapping) and all(
            isinstance(key, str) and isinstance(item, member) for key, item in value.items()
        )
    return isinstance(value, list | tuple) and all(isinstance(item, member) for item in value)
