"""Messages as turns: for APIs where the sides take turns and all results of a reply's calls stand in one of them.

Must not know: how any API writes a turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from agrun_wasm.contracts.model import Message

__all__ = ["Turn", "turns"]


@dataclass(slots=True)
class Turn:
    """Consecutive messages of one side: a model's, or results of its calls and then what else it is told.

    Each message comes with its place in the whole list.
    """

    by_model: bool
    results: list[tuple[int, Message]] = field(default_factory=list)
    others: list[tuple[int, Message]] = field(default_factory=list)


def turns(messages: Iterable[Message]) -> Iterator[Turn]:
    """The turns in order. A conversation that begins with the model's side gets an empty turn before it."""
    turn: Turn | None = None
    for place, message in enumerate(messages):
        role = message.role
        by_model = role == "assistant"
        if turn is None:
            turn = Turn(by_model)
            if by_model:
                yield Turn(False)
        elif by_model is not turn.by_model:
            yield turn
            turn = Turn(by_model)
        (turn.results if role == "tool" else turn.others).append((place, message))
    if turn is not None:
        yield turn
