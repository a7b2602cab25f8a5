"""What a cycle leads to: what acting left (contracts/outcome), or an end of this drive. `finish` reads the ends."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from agrun_wasm.contracts.errors import ErrorInfo
from agrun_wasm.contracts.outcome import Answer, GoOn, WriteAnswer

__all__ = ["Answer", "Blocked", "Failed", "GoOn", "OutOfBudget", "Outcome", "WriteAnswer"]


class Blocked(NamedTuple):
    """The run waits for a person: a question or approvals."""

    output: dict[str, Any]
    source: Literal["ask_clarification", "approval"]


class OutOfBudget(NamedTuple):
    reason: Literal["steps", "deadline", "cost"]


class Failed(NamedTuple):
    error: ErrorInfo


Outcome = GoOn | Answer | WriteAnswer | Blocked | OutOfBudget | Failed
