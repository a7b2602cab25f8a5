"""What an action may return, and what the runtime makes of it. Rules: document 2, 2.4 Context and result.

Pure: a value goes in, an ActionResult or the words of the fault come out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, cast

from pydantic import BaseModel

from agrun_wasm.contracts.effects import EffectOnState
from agrun_wasm.text.shorten import one_line
from agrun_wasm.text.strict_json import parse_json

#: characters of a summary that the runtime makes
SUMMARY_CHARS = 120
CONTROLS = ("continue", "complete")


class ActionResult(NamedTuple):
    """A checked result: JSON output, a short summary, and a built-in's effects."""

    control: Literal["continue", "complete"]
    output: Any
    summary: str
    effects: tuple[EffectOnState, ...] = ()


def is_ok(output: Any) -> bool:
    """An object with `ok: false` is an output all the same, but not a success."""
    return not (isinstance(output, dict) and output.get("ok") is False)


class ProtocolError(ValueError):
    """The returned value breaks the action contract; the text says how."""


def read_result(value: Any, *, built_in: bool) -> ActionResult:
    """`value` as an ActionResult; a value without a `control` key is wrapped. Raises ProtocolError."""
    if isinstance(value, BaseModel):
        value = as_json(value)
    if not (isinstance(value, Mapping) and "control" in value):
        output = as_json(value)
        return ActionResult("continue", output, summarise(output))
    allowed = {"control", "output", "summary"} | ({"effects"} if built_in else set())
    if extra := sorted(set(map(str, value)) - allowed):
        raise ProtocolError(f"unknown key {extra[0]!r} beside 'control'; an action returns control, output and summary")
    control = value["control"]
    if control not in CONTROLS:
        raise ProtocolError(f"'control' must be 'continue' or 'complete', not {str(control)[:40]!r}")
    for key in ("output", "summary"):
        if key not in value:
            raise ProtocolError(f"{key!r} is missing beside 'control'")
    if not isinstance(value["summary"], str):
        raise ProtocolError("'summary' must be a string")
    effects = tuple(value.get("effects", ())) if built_in else ()
    return ActionResult(control, as_json(value["output"]), value["summary"], effects)


def as_json(value: Any) -> Any:
    """A copy of `value` that is JSON and nothing else, no deeper than a model's JSON may be, lone surrogates replaced.

    Raises ProtocolError naming what is not.
    """
    try:
        return parse_json(json.dumps(value, allow_nan=False, default=_model))
    except (TypeError, ValueError, RecursionError) as error:  # pydantic's and parse_json's faults are ValueErrors
        raise ProtocolError(f"the returned value is not JSON: {error}") from None


def _model(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    raise TypeError(f"{type(value).__name__} is no JSON value")


def summarise(output: Any) -> str:
    """A short readable line for the action history."""
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    return one_line(text, SUMMARY_CHARS)


def completed_text(output: Any) -> tuple[str, dict[str, Any]]:
    """The text of a `complete` result and the fields kept beside it (2.4): a string, an object's `text`, or JSON."""
    if isinstance(output, str):
        return output, {}
    if isinstance(output, dict) and isinstance(output.get("text"), str):
        return cast("str", output["text"]), {k: v for k, v in output.items() if k != "text"}
    return json.dumps(output, ensure_ascii=False, separators=(",", ":")), {}
