"""What acting on a decision leaves to be evaluated. Saved with the cycle, since a deadline may cut the evaluation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from agrun_wasm.contracts.base import Contract
from agrun_wasm.contracts.result import AnswerSource


class GoOn(Contract):
    """The next cycle decides."""

    type: Literal["go_on"] = "go_on"


class Answer(Contract):
    """A text that wants to be the run's answer. `fields` are kept beside it in the output."""

    type: Literal["answer"] = "answer"
    text: str
    source: AnswerSource
    citations: list[str] = []
    fields: dict[str, Any] = {}


class WriteAnswer(Contract):
    """The writer is to compose the answer; without an instruction it gets the default one.

    `chosen` by the model (`finalize`): autoRead may come first.
    """

    type: Literal["write_answer"] = "write_answer"
    instruction: str | None = None
    chosen: bool = False


Acted = Annotated[GoOn | Answer | WriteAnswer, Field(discriminator="type")]
