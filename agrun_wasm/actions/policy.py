"""The policy gate: what the host, the tier and the plugins say of an action; the judge. Rules: document 2, 2.6."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agrun_wasm.actions.definition import Action
from agrun_wasm.actions.host_code import call_host
from agrun_wasm.contracts.policy import STRICTNESS, TIER_DEFAULTS, PolicyAction, PolicyDecision, PolicyEntry

PolicyValue = PolicyAction | PolicyEntry


def entry_of(value: PolicyValue) -> PolicyEntry:
    return value if isinstance(value, PolicyEntry) else PolicyEntry(action=value)


def base_decision(action: Action, explicit: Mapping[str, PolicyValue]) -> PolicyDecision:
    """The explicit entry, else the tier's default."""
    if action.name in explicit:
        entry = entry_of(explicit[action.name])
        return _decision(action, entry.action, "explicit", entry.reason or "set by actionPolicy")
    default = TIER_DEFAULTS[action.tier]
    return _decision(action, default, "tier", f"tier {action.tier}: {default}")


def action_decision(
    action: Action, explicit: Mapping[str, PolicyValue], plugins: Mapping[str, tuple[str, PolicyEntry]]
) -> PolicyDecision:
    """The action's policy before any call: a plugin's entry can only make it stricter (checked at composition)."""
    decision = base_decision(action, explicit)
    if action.name in plugins:
        plugin, entry = plugins[action.name]
        if STRICTNESS[entry.action] > STRICTNESS[decision.action]:
            return _decision(action, entry.action, "plugin", entry.reason or f"set by plugin {plugin}")
    return decision


def tightened_by_skill(decision: PolicyDecision, entry: PolicyEntry | None) -> PolicyDecision:
    """A skillPolicy entry can only make a call's policy stricter."""
    if entry is None or STRICTNESS[entry.action] <= STRICTNESS[decision.action]:
        return decision
    reason = entry.reason or "set by skillPolicy"
    return decision.model_copy(update={"action": entry.action, "source": "skill", "reason": reason})


def needs_judge(action: Action, decision: PolicyDecision) -> bool:
    """Only what declares nothing and what the tier alone would allow is judged."""
    return action.permission.source == "host_default" and decision.source == "tier" and decision.action == "allow"


async def ask_judge(
    judge: Callable[..., Any], decision: PolicyDecision, args: dict[str, Any]
) -> tuple[PolicyAction, str]:
    """The judge's answer and why; anything but allow, ask, deny or `{isReadOnly: true}` means ask."""
    answer = await call_host(judge, decision.to_json(), args)
    if answer in ("allow", "ask", "deny"):
        return answer, f"the judge says {answer}"
    if isinstance(answer, Mapping) and answer.get("isReadOnly") is True:
        return "allow", "the judge says that this call only reads"
    return "ask", "the judge gave no clear answer"


def judged(decision: PolicyDecision, action: PolicyAction, reason: str) -> PolicyDecision:
    return decision.model_copy(update={"action": action, "source": "judge", "reason": reason})


def _decision(action: Action, policy: PolicyAction, source: Any, reason: str) -> PolicyDecision:
    return PolicyDecision(
        action=policy,
        action_name=action.name,
        tier=action.tier,
        source=source,
        reason=reason,
        permission=action.permission.model_copy(),
    )
