"""Messages as turns, and the text of an append-only history without writing it again for each request.

In a turn the results of a reply's calls stand before what else the model is told: every API wants them right after
their calls. Must not know: how any API writes a turn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from operator import is_

from agrun_wasm.contracts.model import Message

__all__ = ["History", "Turn", "turns"]


@dataclass(slots=True)
class Turn:
    """Consecutive messages of one side, the model's or ours, each with its place in the whole list."""

    by_model: bool
    results: list[tuple[int, Message]] = field(default_factory=list)
    others: list[tuple[int, Message]] = field(default_factory=list)
    #: the place after the turn's last message
    end: int = 0


def turns(messages: tuple[Message, ...], start: int = 0) -> Iterator[Turn]:
    """The turns in order, from one that begins at `start`. Where the model's side begins, an empty turn of ours stands
    before it."""
    turn: Turn | None = None
    for place in range(start, len(messages)):
        message = messages[place]
        by_model = message.role == "assistant"
        if turn is None:
            if by_model and start == 0:
                yield Turn(False)
            turn = Turn(by_model)
        elif by_model is not turn.by_model:
            yield turn
            turn = Turn(by_model)
        (turn.results if message.role == "tool" else turn.others).append((place, message))
        turn.end = place + 1
    if turn is not None:
        yield turn


class History:
    """Writes messages with `write(turn, marks)`, where marks are places that are written in another way this time.

    What cannot change any more (turns before the last one and before any mark) is kept for the next request, which
    nearly always holds the same messages and a few more.
    """

    def __init__(self, write: Callable[[Turn, Collection[int]], str]) -> None:
        self._write = write
        self._known: tuple[Message, ...] = ()
        self._text = ""

    def text(self, messages: tuple[Message, ...], marks: Collection[int] = ()) -> str:
        """The turns, joined by commas."""
        known = len(self._known)
        if known > len(messages) or not all(map(is_, self._known, messages)) or any(mark < known for mark in marks):
            self._known, self._text, known = (), "", 0
        first_mark = min(marks, default=len(messages))
        text = self._text
        for turn in turns(messages, known):
            written = self._write(turn, marks)
            if written:
                text = f"{text},{written}" if text else written
            if turn.end <= first_mark and turn.end < len(messages):
                known, self._text = turn.end, text
        self._known = messages[:known]
        return text
