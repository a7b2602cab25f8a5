"""Capabilities and profiles: what a profile offers and what a host switched off, as tables. Rules: 2.2, 2.13."""

from __future__ import annotations

from collections.abc import Sequence

from agrun_wasm.contracts.errors import ConfigInvalid
from agrun_wasm.contracts.naming import did_you_mean

CAPABILITIES: dict[str, str] = {
    "clarification": "asking the user",
    "skills": "Agent Skills and their tools",
    "handoff": "handing over to another skill",
    "web_research": "searching and reading the web",
    "workspace": "files in memory, patches, publishing",
}
#: capability -> the one that it is of no use without, which stands before it
REQUIRES: dict[str, str] = {"handoff": "skills"}
PROFILES: dict[str, frozenset[str]] = {
    "legacy": frozenset(CAPABILITIES),
    "minimal": frozenset({"clarification", "skills"}),
}


def capability_states(profile: str, disabled: Sequence[str]) -> dict[str, str | None]:
    """Each capability with why it is inactive, or None; raises CONFIG_INVALID for an unknown name."""
    for name in disabled:
        if name not in CAPABILITIES:
            raise ConfigInvalid(f"config: 'disabledCapabilities' names {name!r}{did_you_mean(name, CAPABILITIES)}")
    states: dict[str, str | None] = {}
    for name in CAPABILITIES:
        if name in disabled:
            states[name] = "disabled by disabledCapabilities"
        elif name not in PROFILES[profile]:
            states[name] = f"not in profile {profile}"
        elif name in REQUIRES and states.get(REQUIRES[name]) is not None:
            states[name] = f"requires {REQUIRES[name]}"
        else:
            states[name] = None
    return states
