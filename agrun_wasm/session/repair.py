"""Repair of a loaded transcript, so that a provider accepts it: every call has one result, right after its message.

A state that this runtime saved needs none. One that was cut or edited elsewhere may; nothing of it is dropped.
"""

from __future__ import annotations

from agrun_wasm.contracts.model import Message, ToolCall
from agrun_wasm.contracts.state import RunState
from agrun_wasm.session.transcript import as_text

NO_RESULT = "interrupted: no result of this call was recorded"


def repair(state: RunState) -> None:
    """Answers calls without a result, and tells a result without its call as plain text.

    The latest reply's calls stay open where the run answers them itself, in the cycle in progress, or has ended with
    them.
    """
    repaired: list[Message] = []
    waiting: dict[str, ToolCall] = {}
    for message in state.transcript:
        if message.role == "tool":
            if waiting.pop(message.tool_call_id or "", None) is None:
                message = as_text(message)
        elif waiting:
            repaired += _unanswered(waiting, repaired[-1].cycle)
            waiting = {}
        repaired.append(message)
        if message.role == "assistant":
            waiting = {call.id: call for call in message.tool_calls}
    in_progress = state.cycle is not None and state.cycle.decision is not None
    if waiting and not in_progress and state.status in ("running", "continuation", "failed"):
        repaired += _unanswered(waiting, repaired[-1].cycle)
    state.transcript = repaired


def _unanswered(calls: dict[str, ToolCall], cycle: int) -> list[Message]:
    return [
        Message(
            role="tool",
            kind="result",
            tool_call_id=call.id,
            tool_name=call.name,
            text=NO_RESULT,
            is_error=True,
            cycle=cycle,
            summary=f"{call.name}: {NO_RESULT}",
        )
        for call in calls.values()
    ]
