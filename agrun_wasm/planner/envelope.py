"""An envelope object to a Decision: the repairs of keys and names, and every reason to refuse. Rules: document 2, 2.3.

The letters of the JSON are `text/model_json`'s; which names exist is the surface's. Plan items take the same path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agrun_wasm.actions.clarification import NAME as ASK
from agrun_wasm.actions.registry import DECISION_TOOLS, bare_name
from agrun_wasm.contracts.decision import (
    ActionDecision,
    Call,
    ClarifyDecision,
    Decision,
    FinalDecision,
    FinalizeDecision,
    InvalidReason,
    PlanDecision,
    PlanItem,
    Section,
    Stitch,
)
from agrun_wasm.contracts.naming import did_you_mean
from agrun_wasm.contracts.state import RunState
from agrun_wasm.planner.surface import Surface
from agrun_wasm.text.strict_json import JsonTextError, parse_json

DECISION_WORDS = ("action", "plan", "clarify", "final", "finalize")
#: which decision a key implies where `type` is missing, and which keys let an object in prose count as a decision
IMPLIED_TYPES = {
    "actions": "plan",
    "name": "action",
    "tool": "action",
    "question": "clarify",
    "answer": "final",
    "instruction": "finalize",
}
DECISION_KEYS = frozenset(IMPLIED_TYPES) | {"type"}
#: names that an envelope's action may have though they are decisions
_TOOL_WORDS = {**DECISION_TOOLS, "clarify": "clarify"}


class InvalidDecision(Exception):
    """A model's output is no decision. `reason` is one of 2.3's, the text says what was wrong."""

    def __init__(self, reason: InvalidReason, message: str) -> None:
        super().__init__(message)
        self.reason: InvalidReason = reason
        self.message = message


class EnvelopeReader:
    """Reads decisions for one surface at one moment."""

    def __init__(self, surface: Surface, state: RunState) -> None:
        self._surface = surface
        self._state = state

    def decision(self, envelope: Mapping[str, Any]) -> Decision:
        """The envelope's decision; raises InvalidDecision."""
        envelope = _renamed(envelope)
        word = self._type_of(envelope)
        if word == "action":
            return self._action(envelope)
        return self.by_word(word, envelope)

    def by_word(self, word: str, fields: Mapping[str, Any], provider_id: str | None = None) -> Decision:
        """A decision other than an action from its fields (an envelope, or a decision tool's arguments)."""
        reasoning = _text(fields.get("reasoning"))
        if word == "plan":
            return self._plan(fields, reasoning, provider_id)
        if word == "clarify":
            return self._clarify(fields.get("question"), reasoning, provider_id)
        if word == "final":
            answer = fields.get("answer")
            if not isinstance(answer, str) or not answer.strip():
                raise InvalidDecision("missing_answer", "a final decision needs a non-empty text in 'answer'")
            citations = fields.get("citations")
            urls = [url for url in citations if isinstance(url, str)] if isinstance(citations, list) else []
            return FinalDecision(answer=answer, citations=urls, reasoning=reasoning, provider_id=provider_id)
        return FinalizeDecision(
            instruction=_text(fields.get("instruction")), reasoning=reasoning, provider_id=provider_id
        )

    def call(self, named: str, args: dict[str, Any] | None, fault: str | None, provider_id: str | None = None) -> Call:
        """A named call, with `invalid` set where nothing of that name can be called now."""
        action = self._surface.registry.resolve(named)
        invalid: InvalidReason | None = None
        if action is None or action.planner is None:
            action, invalid = None, "unknown_action"
        elif self._surface.disabled(action, self._state):
            invalid = "disabled_action"
        return Call(
            provider_id=provider_id,
            named=named,
            action_name=action.name if action else None,
            args=args,
            args_fault=fault,
            invalid=invalid,
        )

    def explain_invalid(self, call: Call) -> str:
        """Why a name cannot be called, with the names that can."""
        names = [action.name for action in self._surface.offered(self._state)]
        valid = f"valid names: {', '.join(names)}" if names else "no action is offered"
        if call.invalid == "disabled_action":
            return f"action {call.named!r} is not available; {valid}"
        return f"there is no action {call.named!r}{did_you_mean(call.named, names)}; {valid}"

    def _type_of(self, envelope: Mapping[str, Any]) -> str:
        given = envelope.get("type")
        if given is None or given == "":
            implied = {kind for key, kind in IMPLIED_TYPES.items() if envelope.get(key) is not None}
            if len(implied) == 1:
                return implied.pop()
            raise InvalidDecision("missing_type", f"'type' is missing; use one of {', '.join(DECISION_WORDS)}")
        if isinstance(given, str):
            word = given.strip().casefold()
            if word in DECISION_WORDS:
                return word
            if bare_name(word) in _TOOL_WORDS or self._surface.registry.resolve(given.strip()):
                return "action"
        raise InvalidDecision("missing_type", f"unknown 'type' {given!r:.60}; use one of {', '.join(DECISION_WORDS)}")

    def _action(self, envelope: Mapping[str, Any]) -> Decision:
        name = _name_of(envelope)
        if name is None:
            raise InvalidDecision("missing_name", "an action decision needs the action's name in 'name'")
        args, fault = read_args(envelope.get("args"))
        word = _TOOL_WORDS.get(bare_name(name))
        if word is not None and self._surface.registry.resolve(name) is None:
            return self.by_word(word, {**envelope, **(args or {})})
        call = self.call(name, args, fault)
        if call.invalid:
            raise InvalidDecision(call.invalid, self.explain_invalid(call))
        if args is None:
            raise InvalidDecision("args_not_object", f"'args' of {name!r} must be a JSON object: {fault}")
        reasoning = _text(envelope.get("reasoning"))
        if call.action_name == ASK:
            question = args.get("question", envelope.get("question"))
            return self._clarify(question, reasoning, None)
        return ActionDecision(call=call, reasoning=reasoning)

    def _clarify(self, question: Any, reasoning: str, provider_id: str | None) -> Decision:
        call = self.call(ASK, {"question": question}, None, provider_id)
        if call.invalid:
            raise InvalidDecision("disabled_action", "asking the user is switched off; " + self.explain_invalid(call))
        if not isinstance(question, str) or not question.strip():
            raise InvalidDecision("missing_question", "a question to the user needs a non-empty text in 'question'")
        return ClarifyDecision(call=call, reasoning=reasoning)

    def _plan(self, fields: Mapping[str, Any], reasoning: str, provider_id: str | None) -> PlanDecision:
        actions = fields.get("actions")
        if not isinstance(actions, list) or not actions:
            raise InvalidDecision("empty_plan", "a plan needs a non-empty list in 'actions'")
        stitch, fault = _stitch(fields.get("stitch"))
        instruction = fields.get("synthesize_instruction")
        return PlanDecision(
            actions=[self._item(item) for item in actions],
            synthesize_instruction=instruction if isinstance(instruction, str) and instruction.strip() else None,
            synthesize_per_action=fields.get("synthesize_per_action") is True,
            stitch=stitch,
            stitch_fault=fault,
            partial_ok=fields.get("partial_ok") is True,
            reasoning=reasoning,
            provider_id=provider_id,
        )

    def _item(self, item: Any) -> PlanItem:
        if not isinstance(item, Mapping):
            return PlanItem(named="", item_type="no object", args=None)
        item = _renamed(item)
        try:
            word = self._type_of(item)
        except InvalidDecision:
            word = str(item.get("type") or "no type")
        name = _name_of(item)
        tool = _TOOL_WORDS.get(bare_name(name or "")) if word == "action" else None
        if word == "plan" or (tool == "plan" and self._surface.registry.resolve(name or "") is None):
            raise InvalidDecision("nested_plan", "a plan cannot stand inside a plan")
        if word != "action" or tool is not None or name is None:
            return PlanItem(named=name or "", item_type=tool or (word if word != "action" else "no name"), args=None)
        args, fault = read_args(item.get("args"))
        call = self.call(name, args, fault)
        return PlanItem(**call.model_dump(), section=_section(item.get("section")))


def read_args(value: Any) -> tuple[dict[str, Any] | None, str | None]:
    """Arguments as an object: absent, null and empty are `{}`, JSON text is read (one level); else None and why."""
    if value is None or value == "" or (isinstance(value, str) and not value.strip()):
        return {}, None
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except JsonTextError as error:
            return None, error.message
        if value is None:
            return {}, None
    if isinstance(value, dict):
        return value, None
    return None, f"it is {'an array' if isinstance(value, list) else 'no object'}"


def _renamed(envelope: Mapping[str, Any]) -> dict[str, Any]:
    fields = dict(envelope)
    for other in ("arguments", "parameters"):
        if other in fields and "args" not in fields:
            fields["args"] = fields.pop(other)
    if "tool" in fields and "name" not in fields:
        fields["name"] = fields.pop("tool")
    return fields


def _name_of(envelope: Mapping[str, Any]) -> str | None:
    """The name, or a bare tool name that stands in `type`."""
    name = envelope.get("name")
    if isinstance(name, str) and name.strip():
        return name
    given = envelope.get("type")
    if name is None and isinstance(given, str) and given.strip() and given.strip().casefold() not in DECISION_WORDS:
        return given.strip()
    return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _section(value: Any) -> Section | None:
    if not isinstance(value, Mapping):
        return None
    title, prompt = value.get("title"), value.get("prompt")
    return Section(
        title=title if isinstance(title, str) and title.strip() else None,
        prompt=prompt if isinstance(prompt, str) and prompt.strip() else None,
    )


def _stitch(value: Any) -> tuple[Stitch | None, str | None]:
    if value is None:
        return None, None
    if not isinstance(value, Mapping):
        return None, "'stitch' must be an object"
    known = {key: value[key] for key in Stitch.model_fields if value.get(key) is not None}
    return Stitch.model_validate(known), None
