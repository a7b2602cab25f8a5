"""Repair of a loaded transcript, so that a provider accepts it: every call has one result, right after its message.

A state that this runtime saved needs none. One that was cut or edited elsewhere may; nothing of it is dropped.
"""

from __future__ import annotations

from itertools import takewhile

from agrun_wasm.contracts.model import Message, ToolCall
from agrun_wasm.contracts.state import RunState
from agrun_wasm.session.transcript import as_text

NO_RESULT = "interrupted: no result of this call was recorded"


def repair(state: RunState) -> None:
    """Answers calls without a result, and tells a result without its call as plain text.

    The latest reply's calls stay open where the run answers them itself, in the cycle in progress, or has ended with
    them.
    """
    left = state.transcript
    repaired: list[Message] = []
    while left:
        message, left = left[0], left[1:]
        if message.role == "tool":
            repaired.append(as_text(message))
            continue
        repaired.append(message)
        if message.tool_calls:
            results = list(takewhile(lambda other: other.role == "tool", left))
            left = left[len(results) :]
            repaired += _answers(message, results, open_allowed=not left and _answers_itself(state))
    state.transcript = repaired


def _answers_itself(state: RunState) -> bool:
    in_progress = state.cycle is not None and state.cycle.decision is not None
    return in_progress or state.status in ("completed", "aborted", "blocked")


def _answers(message: Message, results: list[Message], *, open_allowed: bool) -> list[Message]:
    """One result for each call, in call order; then what belongs to none of them."""
    by_id: dict[str | None, Message] = {}
    strays: list[Message] = []
    known = {call.id for call in message.tool_calls}
    for result in results:
        if result.tool_call_id in known and result.tool_call_id not in by_id:
            by_id[result.tool_call_id] = result
        else:
            strays.append(as_text(result))
    missing = [] if open_allowed else [call for call in message.tool_calls if call.id not in by_id]
    by_id |= {call.id: _unanswered(call, message.cycle) for call in missing}
    return [*(by_id[call.id] for call in message.tool_calls if call.id in by_id), *strays]


def _unanswered(call: ToolCall, cycle: int) -> Message:
    return Message(
        role="tool",
        kind="result",
        tool_call_id=call.id,
        tool_name=call.name,
        text=NO_RESULT,
        is_error=True,
        cycle=cycle,
        summary=f"{call.name}: {NO_RESULT}",
    )
