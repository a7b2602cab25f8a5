"""A model's reply to one Decision, in either planner mode. Rules: document 2, 2.3.

Envelope mode reads one object out of the text; native mode reads tool calls, and text as the answer it is.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from agrun_wasm.actions.clarification import NAME as ASK
from agrun_wasm.actions.registry import DECISION_TOOLS, bare_name
from agrun_wasm.contracts.decision import (
    ActionDecision,
    BatchDecision,
    Call,
    Decision,
    FinalDecision,
    NothingRun,
    Unrun,
)
from agrun_wasm.contracts.model import ModelReply, ToolCall
from agrun_wasm.contracts.state import RunState
from agrun_wasm.planner.envelope import DECISION_KEYS, DECISION_WORDS, EnvelopeReader, InvalidDecision, read_args
from agrun_wasm.planner.surface import Surface
from agrun_wasm.text.model_json import ModelTextError, read_object, read_whole_object
from agrun_wasm.text.shorten import head

CALL_AGAIN_ALONE = "not run, call again alone"
NOT_RUN_OVER_LIMIT = "not run: more calls than {limit} in one reply"
NOT_RUN_CUT = "not run: the reply was cut at the token limit; call again with shorter arguments"


class Read(NamedTuple):
    """A decision, with what its text needed: the repairs of its letters, and keys that stood twice (the last won)."""

    decision: Decision
    repairs: tuple[str, ...] = ()
    duplicate_keys: tuple[str, ...] = ()

    def notes(self) -> dict[str, Any]:
        """For the step planner-responded; nothing where there is nothing to say."""
        notes: dict[str, Any] = {"repairs": list(self.repairs)} if self.repairs else {}
        return {**notes, "duplicateKeys": list(self.duplicate_keys)} if self.duplicate_keys else notes


def read_envelope_reply(surface: Surface, state: RunState, text: str) -> Read:
    """The decision in a reply's text (envelope mode); raises InvalidDecision."""
    try:
        found = read_object(text, DECISION_KEYS)
    except ModelTextError as error:
        raise InvalidDecision(error.reason, error.message) from None
    return Read(EnvelopeReader(surface, state).decision(found.value), found.repairs, found.duplicate_keys)


def read_native_reply(surface: Surface, state: RunState, reply: ModelReply) -> Read:
    """The decision in a reply's calls or text (native mode); raises InvalidDecision."""
    if reply.tool_calls:
        return Read(_NativeCalls(surface, state, reply).decision())
    if not reply.text.strip():
        raise InvalidDecision("empty_reply", "the reply is empty; call a tool or write the answer")
    answer = FinalDecision(answer=reply.text, truncated=reply.finish == "length", from_text=True)
    return Read(_decision_in_text(surface, state, reply.text) or answer)


def _decision_in_text(surface: Surface, state: RunState, text: str) -> Decision | None:
    """Plain text is an answer, unless the whole of it is a decision with an explicit type."""
    envelope = read_whole_object(text)
    word = envelope.get("type") if envelope else None
    if envelope is None or not isinstance(word, str) or word.strip().casefold() not in DECISION_WORDS:
        return None
    return EnvelopeReader(surface, state).decision(envelope)


class _NativeCalls:
    """The calls of one reply, read as one decision."""

    def __init__(self, surface: Surface, state: RunState, reply: ModelReply) -> None:
        self._surface = surface
        self._reader = EnvelopeReader(surface, state)
        self._reply = reply
        self._calls = [self._read(call) for call in reply.tool_calls]

    def decision(self) -> Decision:
        if self._reply.finish == "length":
            return NothingRun(
                answers=[Unrun(call=call, text=NOT_RUN_CUT) for call in self._calls], reasoning=self._reply.text
            )
        if len(self._calls) == 1:
            return self._one(self._calls[0])
        alone = next((call for call in self._calls if self._stands_alone(call)), None)
        return self._batch() if alone is None else self._one(alone)

    def _one(self, call: Call) -> Decision:
        if word := self._tool_word(call):
            if call.args is None:
                text = f"the arguments of {call.named!r} are no JSON object: {call.args_fault}"
                return NothingRun(answers=[Unrun(call=call, text=text)], not_object=True)
            return self._reader.by_word(word, call.args, call.provider_id)
        if call.invalid:
            raise InvalidDecision(call.invalid, self._reader.explain_invalid(call))
        if call.action_name == ASK and call.args is not None:
            return self._reader.by_word("clarify", call.args, call.provider_id)
        return ActionDecision(call=call, reasoning=self._reply.text)

    def _batch(self) -> Decision:
        if all(call.invalid for call in self._calls):
            first = self._calls[0]
            raise InvalidDecision(first.invalid or "unknown_action", self._reader.explain_invalid(first))
        return BatchDecision(calls=self._calls, reasoning=self._reply.text)

    def _read(self, call: ToolCall) -> Call:
        args, fault = read_args(call.args_text)
        if self._is_decision_tool(call.name):
            return Call(provider_id=call.id, named=call.name, args=args, args_fault=fault)
        return self._reader.call(call.name, args, fault, call.id)

    def _is_decision_tool(self, name: str) -> bool:
        return bare_name(name) in DECISION_TOOLS and self._surface.registry.resolve(name) is None

    @staticmethod
    def _tool_word(call: Call) -> str | None:
        """The decision that a decision tool's call is."""
        return DECISION_TOOLS.get(bare_name(call.named)) if call.action_name is None and not call.invalid else None

    def _stands_alone(self, call: Call) -> bool:
        """A terminal call, a plan, or an action that never runs beside others."""
        if self._tool_word(call):
            return True
        action = self._surface.registry.get(call.action_name or "")
        return action is not None and not call.invalid and action.standalone


def preview(text: str, calls: list[ToolCall]) -> str:
    """The head of what a model wrote, for the step planner-invalid-decision."""
    written = text.strip() or json.dumps([[call.name, call.args_text] for call in calls], ensure_ascii=False)
    return head(written, 200)


def decide_record(decision: Decision) -> dict[str, Any]:
    """`decide` of a cycle's record (2.5)."""
    record: dict[str, Any] = {"type": decision.type}
    if isinstance(decision, ActionDecision):
        record["name"] = decision.call.action_name
    elif isinstance(decision, NothingRun):
        single = decision.answers[0].call
        named = single.action_name or single.named
        record = {"type": "batch"} if len(decision.answers) > 1 else {"type": "action", "name": named}
    if decision.reasoning:
        record["reasoning"] = decision.reasoning
    return record
