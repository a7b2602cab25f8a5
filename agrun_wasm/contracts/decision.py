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
    name is unknown or disabled. `provider_id` is the model's own id of the call
    in native mode.
    """

    provider_id: str | None = None
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


class _Decision(Contract):
    """`provider_id` is the id of the native call that the decision was, None for text and for calls with ids of their
    own."""

    reasoning: str = ""
    provider_id: str | None = None


class ActionDecision(_Decision):
    type: Literal["action"] = "action"
    call: Call


class BatchDecision(_Decision):
    """Two or more calls in one native reply."""

    type: Literal["batch"] = "batch"
    calls: list[Call]


class PlanDecision(_Decision):
    type: Literal["plan"] = "plan"
    actions: list[PlanItem]
    synthesize_instruction: str | None = None
    synthesize_per_action: bool = False
    stitch: Stitch | None = None
    stitch_fault: str | None = None
    partial_ok: bool = False


class ClarifyDecision(_Decision):
    """Sugar for the action ask_clarification; it is dispatched like any call."""

    type: Literal["clarify"] = "clarify"
    call: Call


class FinalDecision(_Decision):
    """The model's own answer. `truncated`: cut by the token limit. `from_text`: native plain text, shown as it came."""

    type: Literal["final"] = "final"
    answer: str
    citations: list[str] = []
    truncated: bool = False
    from_text: bool = False


class FinalizeDecision(_Decision):
    """The runtime writes the answer with one finaliser call."""

    type: Literal["finalize"] = "finalize"
    instruction: str = ""


class Unrun(Contract):
    """A call that is answered without running, and the answer."""

    call: Call
    text: str


class NothingRun(_Decision):
    """A reply whose calls are all answered without running (cut by the token limit, arguments that are no object).

    It costs a step and is no invalid decision; `answers` are in call order.
    """

    type: Literal["nothing_run"] = "nothing_run"
    answers: list[Unrun] = Field(min_length=1)
    not_object: bool = False


Decision = Annotated[
    ActionDecision | BatchDecision | PlanDecision | ClarifyDecision | FinalDecision | FinalizeDecision | NothingRun,
    Field(discriminator="type"),
]
