"""A session's history: one user turn and one assistant turn for each run that a model may look back on."""

from __future__ import annotations

from agrun_wasm.contracts.request import Part, PastTurn, TextPart, Turn
from agrun_wasm.contracts.state import RunState


def turns_of(state: RunState) -> list[PastTurn]:
    """What a run that is over adds to its session: its prompt, and what the user was told.

    A failed run leaves no turn. A stopped one leaves the prompt and what had been written by then (2.8).
    """
    if not closes_turn(state):
        return []
    told = (state.output or {}).get("text") or ""
    if state.status == "aborted":
        told = state.partial_text
    asked: list[Part] = [TextPart(type="text", text=state.request.prompt), *state.request.parts]
    turns = [*state.request.conversation, Turn(role="user", parts=asked)]
    if told:
        turns.append(Turn(role="assistant", parts=[TextPart(type="text", text=told)]))
    return [PastTurn(role=turn.role, parts=turn.parts, run_id=state.run_id) for turn in turns]


def closes_turn(state: RunState) -> bool:
    """Does this end add to the session's history? A run that waits for an approval or for budget is not over yet."""
    if state.status == "blocked":
        return (state.output or {}).get("kind") == "clarification"
    return state.status in ("completed", "aborted")
