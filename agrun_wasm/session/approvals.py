"""Approvals: asked for a call, answered by a person, used once. Rules: document 2, 2.6.

Owns the records and the checks of an answer. It runs nothing and emits nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from agrun_wasm.contracts.errors import ApprovalInvalid, ConfigInvalid
from agrun_wasm.contracts.policy import PolicyDecision
from agrun_wasm.contracts.state import Approval, RunState
from agrun_wasm.text.digest import digest

Answer = Literal["approve", "deny"]


class Resolution(NamedTuple):
    """A checked answer to a pending approval."""

    approval: Approval
    answer: Answer
    note: str | None


def args_hash(action_name: str, args: Mapping[str, Any]) -> str:
    """What binds an approval to its call's arguments."""
    return "sha256:" + digest({"action": action_name, "args": dict(args)})


def new_approval(
    state: RunState, *, sequence_id: str, args: dict[str, Any], decision: PolicyDecision, expires_at: float
) -> Approval:
    """A pending approval, entered into the state; its id derives from the run, not from chance."""
    state.approvals.made += 1
    approval = Approval(
        approval_id=f"{state.run_id}:approval:{state.approvals.made}",
        sequence_id=sequence_id,
        args=args,
        args_hash=args_hash(decision.action_name, args),
        expires_at=expires_at,
        policy=decision,
    )
    state.approvals.pending.append(approval)
    return approval


def public_view(approval: Approval) -> dict[str, Any]:
    """An approval as the result's output lists it (2.5)."""
    policy = approval.policy
    return {
        "approvalId": approval.approval_id,
        "actionName": policy.action_name,
        "args": approval.args,
        "argsHash": approval.args_hash,
        "reason": policy.reason,
        "tier": policy.tier,
        "permission": policy.permission.to_json(),
        "expiresAt": approval.expires_at,
    }


def check_answers(state: RunState, decisions: Mapping[str, Any], now: float) -> list[Resolution]:
    """Every answer checked before any is acted on. Raises APPROVAL_INVALID or CONFIG_INVALID; changes nothing."""
    pending = {approval.approval_id: approval for approval in state.approvals.pending}
    used = {approval.approval_id for approval in state.approvals.resolved}
    resolutions: list[Resolution] = []
    for approval_id, answer in decisions.items():
        word, note = _read_answer(approval_id, answer)
        approval = pending.get(approval_id)
        if approval is None:
            raise _unusable(state, approval_id, used)
        name = approval.policy.action_name
        if not _is_bound(state, approval):
            raise ApprovalInvalid(
                f"approval {approval_id!r}: the arguments of {name!r} changed since it was asked for",
                reason="args_changed",
                hint="Ask again by running anew; an approval holds for the arguments that were shown.",
            )
        if now > approval.expires_at:
            raise ApprovalInvalid(
                f"approval {approval_id!r} for {name!r} has expired",
                reason="expired",
                hint="Run again to be asked anew, or raise approvalTtlMs.",
            )
        resolutions.append(Resolution(approval, word, note))
    return resolutions


def _is_bound(state: RunState, approval: Approval) -> bool:
    """Do the arguments that were shown, and those of the call that would run, both have the approval's hash?"""
    calls = state.cycle.calls if state.cycle else []
    args = [approval.args, *(call.args for call in calls if call.sequence_id == approval.sequence_id)]
    return len(args) == 2 and all(args_hash(approval.policy.action_name, each) == approval.args_hash for each in args)


def _read_answer(approval_id: str, answer: Any) -> tuple[Answer, str | None]:
    note = None
    if isinstance(answer, Mapping):
        if extra := sorted(set(answer) - {"decision", "note"}):
            raise ConfigInvalid(f"decisions[{approval_id!r}]: unknown key {extra[0]!r}; use 'decision' and 'note'")
        note = answer.get("note")
        answer = answer.get("decision")
        if note is not None and not isinstance(note, str):
            raise ConfigInvalid(f"decisions[{approval_id!r}]: 'note' must be a string")
    if answer == "approve":
        return "approve", note
    if answer == "deny":
        return "deny", note
    raise ConfigInvalid(f"decisions[{approval_id!r}] must be 'approve', 'deny' or {{decision, note}}")


def _unusable(state: RunState, approval_id: str, used: set[str]) -> ApprovalInvalid:
    if approval_id in used:
        return ApprovalInvalid(f"approval {approval_id!r} was already used", reason="used")
    if ":approval:" in approval_id and not approval_id.startswith(f"{state.run_id}:"):
        hint = "Give the state and the approvals of the same run."
        return ApprovalInvalid(
            f"approval {approval_id!r} belongs to another run than {state.run_id!r}", reason="wrong_run", hint=hint
        )
    known = ", ".join(a.approval_id for a in state.approvals.pending) or "none"
    return ApprovalInvalid(f"approval {approval_id!r} is unknown; pending: {known}", reason="unknown")


def resolve(state: RunState, resolutions: list[Resolution]) -> None:
    """Moves answered approvals from pending to resolved."""
    answered = {r.approval.approval_id: r for r in resolutions}
    for approval in state.approvals.pending:
        if resolution := answered.get(approval.approval_id):
            approval.resolution = resolution.answer
            approval.note = resolution.note
            state.approvals.resolved.append(approval)
    state.approvals.pending = [a for a in state.approvals.pending if a.approval_id not in answered]
