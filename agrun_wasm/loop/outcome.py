"""What acting on a decision leads to. Plain values; `evaluate` and `finish` read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from agrun_wasm.contracts.errors import ErrorInfo
from agrun_wasm.contracts.result import AnswerSource


@dataclass(frozen=True, slots=True)
class GoOn:
    """The next cycle decides."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A text that wants to be the run's answer. `fields` are kept beside it in the output."""

    text: str
    source: AnswerSource
    citations: list[str] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """The writer is to compose the answer; None is the default instruction."""

    instruction: str | None = None
    #: chosen by the model (`finalize`), so autoRead may come first
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Blocked:
    """The run waits for a person: a question or approvals."""

    output: dict[str, Any]
    source: Literal["ask_clarification", "approval"]


@dataclass(frozen=True, slots=True)
class OutOfBudget:
    reason: Literal["steps", "deadline", "cost"]


@dataclass(frozen=True, slots=True)
class Failed:
    error: ErrorInfo


Outcome = GoOn | Answer | WriteAnswer | Blocked | OutOfBudget | Failed
