"""What a cycle leads to: what acting left (contracts/outcome), or an end of this drive. `finish` reads the ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from agrun_wasm.contracts.errors import ErrorInfo
from agrun_wasm.contracts.outcome import Answer, GoOn, WriteAnswer

__all__ = ["Answer", "Blocked", "Failed", "GoOn", "OutOfBudget", "Outcome", "WriteAnswer"]


@dataclass(slots=True)
class Blocked:
    """The run waits for a person: a question or approvals."""

    output: dict[str, Any]
    source: Literal["ask_clarification", "approval"]


@dataclass(slots=True)
class OutOfBudget:
    reason: Literal["steps", "deadline", "cost"]


@dataclass(slots=True)
class Failed:
    error: ErrorInfo


Outcome = GoOn | Answer | WriteAnswer | Blocked | OutOfBudget | Failed
