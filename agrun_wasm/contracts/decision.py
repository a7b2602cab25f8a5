"""Decisions: what the planner chose for one cycle, the same values whichever planner mode produced them. Rules: 2.3."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from agrun_wasm.contracts.base import Contract

#: why a model's output is no decision (2.3)
InvalidReason = Literal[
    "parse_error",
    "not_an_envelope",
    "ambiguous_envelope",
    "truncated",
    "missing_type",
    "missing_name",
    "unknown_action",
    "disabled_action",
    "args_not_object",
    "missing_answer",
    "missing_question",
    "empty_plan",
    "nested_plan",
    "empty_reply",
]


class Call(Contract):
    """One requested call. `action_name` is the registered name, None where the name is none we can run.

    `args` is None when what the model wrote is no JSON object; then `args_fault` says so. `invalid` is set where the
    name is unknown or disabled. `call_id` is the provider's id in native mode.
    """

    call_id: str | None = None
    named: str
    action_name: str | None = None
    args: dict[str, Any] | None = {}
    args_fault: str | None = None
    invalid: InvalidReason | None = None


class Section(Contract):
    title: str | None = None
    prompt: str | None = None


class PlanItem(Call):
    """A planned call. `item_type` is set where the item is another kind of envelope (a plan-level problem)."""

    section: Section | None = None
    item_type: str | None = None


class Stitch(Contract):
    """Parts round the sections. Values of a wrong type are kept as they came, so that validation can name them."""

    intro_prompt: Any = None
    outro_prompt: Any = None
    provenance: Any = None
    followups: Any = []
    drill_hints: Any = []


class ActionDecision(Contract):
    type: Literal["action"] = "action"
    call: Call
    reasoning: str = ""


class BatchDecision(Contract):
    """Two or more calls in one native reply."""

    type: Literal["batch"] = "batch"
    calls: list[Call]
    reasoning: str = ""


class PlanDecision(Contract):
    type: Literal["plan"] = "plan"
    actions: list[PlanItem]
    synthesize_instruction: str | None = None
    synthesize_per_action: bool = False
    stitch: Stitch | None = None
    stitch_fault: str | None = None
    partial_ok: bool = False
    reasoning: str = ""
    call_id: str | None = None


class ClarifyDecision(Contract):
    """Sugar for the action ask_clarification; it is dispatched like any call."""

    type: Literal["clarify"] = "clarify"
    call: Call
    reasoning: str = ""


class FinalDecision(Contract):
    """The model's own answer. `truncated`: cut by the token limit. `from_text`: native plain text, shown as it came."""

    type: Literal["final"] = "final"
    answer: str
    citations: list[str] = []
    reasoning: str = ""
    call_id: str | None = None
    truncated: bool = False
    from_text: bool = False


class FinalizeDecision(Contract):
    """The runtime writes the answer with one finaliser call."""

    type: Literal["finalize"] = "finalize"
    instruction: str = ""
    reasoning: str = ""
    call_id: str | None = None


class NothingRun(Contract):
    """A reply whose calls are all answered without running (cut by the token limit, arguments that are no object).

    `answers` are call id and text, in call order; it costs a step and is no invalid decision.
    """

    type: Literal["nothing_run"] = "nothing_run"
    answers: list[tuple[Call, str]]
    not_object: bool = False
    reasoning: str = ""


Decision = Annotated[
    ActionDecision | BatchDecision | PlanDecision | ClarifyDecision | FinalDecision | FinalizeDecision | NothingRun,
    Field(discriminator="type"),
]
