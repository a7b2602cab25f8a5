"""Policy: what may run, what must be asked, what must not; and the permission every action declares. Rules: 2.6."""

from __future__ import annotations

from typing import Literal

from agrun_wasm.contracts.base import Contract

PolicyAction = Literal["allow", "ask", "deny"]
PolicySource = Literal["explicit", "tier", "plugin", "judge", "skill", "hook"]
Effect = Literal[
    "none",
    "runtime_state",
    "skill_catalog",
    "skill_tool",
    "virtual_workspace",
    "external_network",
    "external_write",
    "unknown",
]

#: tier -> default policy (seed: Policy Contract)
TIER_DEFAULTS: dict[int, PolicyAction] = {0: "allow", 1: "ask", 2: "ask", 3: "deny"}
#: the stricter of two is the one with the higher rank
STRICTNESS: dict[str, int] = {"allow": 0, "ask": 1, "deny": 2}


class PolicyEntry(Contract):
    """A host's policy for one name, with its reason."""

    action: PolicyAction
    reason: str = ""


class Permission(Contract):
    """What an action may do, complete. An undeclared field has the conservative value (the defaults here)."""

    effect: Effect = "unknown"
    interrupt_behavior: Literal["abort_safe", "abort_unsafe"] = "abort_unsafe"
    is_concurrency_safe: bool = False
    is_destructive: bool = True
    is_read_only: bool = False
    needs_approval: bool = True
    source: Literal["built_in_metadata", "host_declared", "host_default"] = "host_default"


class PolicyDecision(Contract):
    """The outcome of the gate for one call; steps about policy carry it whole."""

    action: PolicyAction
    action_name: str
    tier: int
    source: PolicySource
    reason: str
    permission: Permission
