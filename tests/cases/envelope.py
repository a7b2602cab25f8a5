"""a-envelope: a model's text through the planner's reader, for the actions that a case has registered (2.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from agrun_wasm import Runtime
from agrun_wasm.actions.definition import Action
from agrun_wasm.contracts.decision import (
    ActionDecision,
    BatchDecision,
    ClarifyDecision,
    Decision,
    FinalDecision,
    FinalizeDecision,
    PlanDecision,
)
from agrun_wasm.planner.envelope import InvalidDecision
from agrun_wasm.planner.reading import read_envelope_reply
from agrun_wasm.planner.surface import Surface
from agrun_wasm.providers.scripted import ScriptedProvider
from tests.cases.expect import Actual, equal
from tests.cases.skill_tools import active_state, skill_with
from tests.clock import FakeClock
from tests.conformance.web import FakeSearch

#: fields that a case leaves out where they are empty, as ours always stand there
_EMPTY: dict[str, Any] = {"reasoning": "", "citations": [], "instruction": ""}


async def actual(item: Mapping[str, Any]) -> Actual:
    surface = _surface(tuple(item.get("actions", ())))
    skill = next(iter(surface.catalog))
    try:
        decision = read_envelope_reply(surface, active_state(skill), item["text"]).decision
    except InvalidDecision as error:
        return Actual(error=error.reason, message=error.message)
    return Actual(_without_empty(_fields(decision)), facts={"warning": await _noted(item)})


def compare(expected: Any, actual: Any) -> list[str]:
    return equal(_without_empty(expected) if isinstance(expected, dict) else expected, actual)


def _fields(decision: Decision) -> dict[str, Any]:
    """The decision as an envelope."""
    said = {"type": decision.type, "reasoning": decision.reasoning}
    if isinstance(decision, ActionDecision):
        return {**said, "name": decision.call.action_name, "args": decision.call.args}
    if isinstance(decision, ClarifyDecision):
        return {**said, "question": (decision.call.args or {}).get("question")}
    if isinstance(decision, FinalDecision):
        return {**said, "answer": decision.answer, "citations": decision.citations}
    if isinstance(decision, FinalizeDecision):
        return {**said, "instruction": decision.instruction}
    if isinstance(decision, PlanDecision):
        return {**said, "actions": [_item(call.action_name or call.named, call.args) for call in decision.actions]}
    if isinstance(decision, BatchDecision):
        return {**said, "actions": [_item(call.action_name or call.named, call.args) for call in decision.calls]}
    return said


def _item(name: str, args: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"type": "action", "name": name, "args": args}


def _without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in _EMPTY or value != _EMPTY[key]}


async def _noted(item: Mapping[str, Any]) -> list[str]:
    """What the trace of a real run says about this reply: the names of its repairs and oddities."""
    model = ScriptedProvider([{"text": item["text"]}], allow_unused=True)
    async with _runtime(tuple(item.get("actions", ())), model) as runtime, runtime.stream("Go on.") as run:
        events = [event.to_json() async for event in run]
    responded = [event["detail"] for event in events if event["type"] == "planner-responded"]
    return [name for detail in responded[:1] for name in _words(detail)]


def _words(detail: Mapping[str, Any]) -> list[str]:
    listed = [word for value in detail.values() if isinstance(value, list) for word in value]
    return [word for word in listed if isinstance(word, str)] + (
        ["duplicate_key"] if detail.get("duplicateKeys") else []
    )


@cache
def _surface(names: Sequence[str]) -> Surface:
    surface: Surface = _runtime(names, ScriptedProvider([]))._surface
    return surface


def _runtime(names: Sequence[str], model: ScriptedProvider) -> Runtime:
    """A runtime with the built-in actions, and plain host actions for all other names."""
    given: dict[str, Any] = {
        "provider": "scripted:test",
        "providers": {"scripted": model},
        "plannerMode": "envelope",
        "skills": [skill_with("demo", {})],
        "webSearch": FakeSearch([]),
        "clock": FakeClock(),
        "maxSteps": 1,
    }
    built_in = {info.name for info in Runtime(**given).actions.list()}
    return Runtime(**given, actions=[_stub(name) for name in names if name not in built_in])


def _stub(name: str) -> Action:
    return Action(name, "", 0, {"argsSchemaOptOut": {"reason": "a case"}}, execute=lambda context, args: None)
