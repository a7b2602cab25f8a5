"""The result of a run. Rules: document 2, 2.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from pydantic import Field

from agrun_wasm.contracts.base import Contract
from agrun_wasm.contracts.errors import ErrorInfo
from agrun_wasm.contracts.events import RunEvent

RunStatus = Literal["completed", "blocked", "continuation", "failed", "aborted"]
AnswerSource = Literal[
    "planner_final",
    "runtime_finalize",
    "plan_synthesize",
    "direct_final",
    "workspace_publish",
    "action",
    "ask_clarification",
    "approval",
    "budget",
    "failed",
    "aborted",
]


class Usage(Contract):
    """Tokens and money of a run. None is "not known", which is not 0. `model_calls` counts answered calls."""

    model_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None


class CycleRecord(Contract):
    """One step spent."""

    cycle: int
    observe: dict[str, Any]
    orient: dict[str, Any]
    decide: dict[str, Any]
    act: dict[str, Any]
    evaluate: dict[str, Any]


class RunResult(Contract):
    """How a run ended. `state` is the exportable run state (2.5), JSON without secrets; it resumes the run."""

    #: how a notebook shows a result, by media type; the runtime, which owns that view, puts it here
    shown_by: ClassVar[Callable[[RunResult], dict[str, str]] | None] = None

    schema_version: Literal[1] = 1
    run_id: str
    session_id: str
    status: RunStatus
    output: dict[str, Any] | None = None
    final_answer_source: AnswerSource
    terminalized_by: AnswerSource
    error: ErrorInfo | None = None
    usage: Usage
    cycles: list[CycleRecord] = Field(repr=False)
    steps: list[RunEvent] = Field(repr=False)
    diagnostics: dict[str, Any] = {}
    state: dict[str, Any] = Field(repr=False)

    @property
    def text(self) -> str:
        """The text a person is shown: the answer, the question, or what is waited for; "" for a failed run."""
        return str((self.output or {}).get("text") or "")

    @property
    def approvals(self) -> list[dict[str, Any]]:
        """The approvals that the run waits for (2.5), empty where it waits for none."""
        return list((self.output or {}).get("approvals") or [])

    def _repr_mimebundle_(self, **_filters: Any) -> dict[str, str]:
        """The result in a notebook: `text/html`, `text/markdown` and `text/plain`."""
        show = RunResult.shown_by
        return {"text/plain": repr(self)} if show is None else show(self)
