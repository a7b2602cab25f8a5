"""What clients send and are sent, as pydantic models: read, checked, and described for OpenAPI."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field
from starlette.requests import Request

from agrun_host.runs import RunView
from agrun_host.serve.problems import Refused
from agrun_wasm.contracts.base import Contract
from agrun_wasm.contracts.errors import ConfigInvalid, ErrorInfo
from agrun_wasm.contracts.request import RunInput
from agrun_wasm.contracts.validation import parse

__all__ = ["Decide", "Problem", "StartRun", "StopRun", "View", "read_body"]

B = TypeVar("B", bound=Contract)
Id = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9._:@-]+$")]


class StartRun(Contract):
    """A run to start: its input (a prompt, or document 2's RunInput), and the conversation it belongs to."""

    input: Annotated[str, Field(min_length=1)] | RunInput
    session: Id | None = None


class Answer(Contract):
    """An answer with words for the model."""

    decision: Literal["approve", "deny"]
    note: str | None = None


class Extension(Contract):
    """What is added to the budgets of a run that is out of them."""

    max_steps: Annotated[int, Field(ge=1, le=10_000)] | None = None
    run_deadline_ms: Annotated[float, Field(gt=0)] | None = None
    max_cost_usd: Annotated[float, Field(gt=0)] | None = None


class Decide(Contract):
    """Answers by approval id, and additions to budgets. Nothing else of a run comes from a client."""

    decisions: dict[str, Literal["approve", "deny"] | Answer] = {}
    extend: Extension | None = None


class StopRun(Contract):
    """How to stop: cut what is in flight, or let it end."""

    how: Literal["now", "after_step"] = "now"


class View(Contract):
    """A run as it stands. `result` is document 2's RunResult without its state, null while the run goes on."""

    run_id: str
    session_id: str | None
    status: Literal["queued", "running", "completed", "blocked", "continuation", "failed", "aborted"]
    result: dict[str, Any] | None

    @classmethod
    def of(cls, view: RunView) -> dict[str, Any]:
        """The JSON of a view; not validated, since it is our own."""
        return {"runId": view.run_id, "sessionId": view.session_id, "status": view.status, "result": view.result}


class Problem(Contract):
    """Every error."""

    error: ErrorInfo


async def read_body(request: Request, model: type[B]) -> B:
    """The request's body as this model. Raises Refused and ConfigInvalid."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # which no form of a foreign page can send
        raise Refused(415, "NOT_JSON", "the body must be sent as application/json")
    raw = await request.body()
    try:
        value = json.loads(raw, parse_float=_number, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Refused(400, "NOT_JSON", f"the body is not JSON: {error}") from None
    return parse(model, value, "body", ConfigInvalid)


def _number(written: str) -> int | float:
    """JSON has one kind of number: 8.0 is the integer 8, as JSON Schema has it too."""
    value = float(written)
    if math.isinf(value):
        raise ValueError(f"{written[:40]} is out of range")
    return int(value) if value.is_integer() and abs(value) <= 2**53 else value


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
