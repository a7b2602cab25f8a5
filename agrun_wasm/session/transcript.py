"""What a model is shown of a run: the turns before it, the prompt, and the transcript, within the context budget.

Owns the view; what is taken out for good is compaction's. Rules: document 2, 2.9 (inputFilter), 2.12. The same state
gives the same messages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from agrun_wasm.contracts.config import ContextBudget
from agrun_wasm.contracts.model import Message
from agrun_wasm.contracts.request import ImagePart, Part, TextPart, Turn
from agrun_wasm.contracts.state import RunState
from agrun_wasm.session.compaction import compact, folded_message

#: turns before the prompt that are always shown, however long they are
KEPT_TURNS = 2
LEFT_OUT = "[left out: the skill that handed over filtered this]"


def turn_message(turn: Turn) -> Message:
    return Message(role=turn.role, kind="history", text=turn.text(), images=_images(turn.parts))


def prompt_message(state: RunState) -> Message:
    """The prompt with the parts that belong to it."""
    request = state.request
    texts = [request.prompt, *(part.text for part in request.parts if isinstance(part, TextPart))]
    return Message(role="user", kind="prompt", text="\n\n".join(t for t in texts if t), images=_images(request.parts))


def _images(parts: Iterable[Part]) -> list[ImagePart]:
    return [part for part in parts if isinstance(part, ImagePart)]


class Transcript:
    """The messages of one run for its model calls; kept beside the state while the run is driven."""

    def __init__(self, state: RunState, budget: ContextBudget) -> None:
        self._state = state
        self._budget = budget
        self._lead = _lead(state, budget.max_chars // 2)
        self._plain = _Derived(as_text)
        self._left_out = _Derived(_left_out)
        self._measure()

    def append(self, message: Message) -> None:
        self._state.transcript.append(message)
        self._size += message.size()

    def compact(self) -> int:
        """Brings the transcript back within the budget; gives how many pieces were shortened."""
        done = 0
        while self._size > self._budget.max_chars:
            size = self._size
            if self._state.agent_skill_context.hidden:  # what is hidden takes no room
                size = sum(message.size() for message in self.view(as_text=False))
            more = compact(self._state, self._budget, size=size)
            if not more:
                break
            done += more
            self._measure()
        return done

    def view(self, *, as_text: bool) -> tuple[Message, ...]:
        """The messages to send. `as_text` writes calls and results as plain text, for requests without tools."""
        shown = self._unhidden(self._state.transcript)
        if as_text:
            shown = [
                self._plain.of(message) if message.tool_calls or message.role == "tool" else message
                for message in shown
            ]
        folded = self._folded()
        return (*self._lead, *shown) if folded is None else (*self._lead, folded, *shown)

    def _measure(self) -> None:
        """After a compaction: sizes counted anew, and copies of messages that are gone forgotten."""
        self._plain.clear()
        self._left_out.clear()
        self._line: tuple[int, Message | None] | None = None
        folded = self._folded()
        self._size = sum(message.size() for message in (*self._lead, *self._state.transcript))
        self._size += 0 if folded is None else folded.size()

    def _folded(self) -> Message | None:
        """The one message of folded cycles, the same object while it says the same."""
        before = self._state.agent_skill_context.hidden.get("actionHistory", 0)
        if self._line is None or self._line[0] != before:
            self._line = (before, folded_message(self._state, hidden_before=before))
        return self._line[1]

    def _unhidden(self, messages: list[Message]) -> list[Message]:
        """Without what a handoff's inputFilter hides; whole cycles go, so a call keeps its result."""
        hidden = self._state.agent_skill_context.hidden
        if not hidden:
            return messages
        before = hidden.get("actionHistory", 0)
        kept = [m for m in messages if m.cycle > before or m.kind not in ("decision", "result")]
        return [self._filtered(m, hidden) for m in kept]

    def _filtered(self, message: Message, hidden: dict[str, int]) -> Message:
        if _is_hidden(message.shows, hidden):
            return self._left_out.of(message)
        if not any(_is_hidden(part.shows, hidden) for part in message.parts):
            return message
        text = message.text
        for part in reversed(message.parts):
            if _is_hidden(part.shows, hidden):
                text = text[: part.start] + LEFT_OUT + text[part.end :]
        return message.model_copy(update={"text": text, "parts": []})


def _is_hidden(shows: dict[str, list[int]], hidden: dict[str, int]) -> bool:
    """Is all that something shows of one of the lists filtered out?"""
    return any(places and all(place < hidden.get(name, 0) for place in places) for name, places in shows.items())


def _lead(state: RunState, room: int) -> list[Message]:
    """The turns before the prompt, as many of the latest as there is room for, and the prompt."""
    turns = [turn_message(turn) for turn in (*state.history, *state.request.conversation)]
    prompt = prompt_message(state)
    size = sum(message.size() for message in (*turns, prompt))
    gone = 0
    while size > room and len(turns) - gone > KEPT_TURNS:
        size -= turns[gone].size()
        gone += 1
    while gone and gone < len(turns) and turns[gone].role != "user":
        gone += 1
    if not gone:
        return [*turns, prompt]
    note = Message(role="user", kind="history", text=f"[{gone} earlier turns of this conversation are left out]")
    return [note, *turns[gone:], prompt]


class _Derived:
    """Messages made from others, each once, so that a provider's encoding of it is made once too."""

    def __init__(self, make: Callable[[Message], Message]) -> None:
        self._make = make
        self._made: dict[int, tuple[Message, Message]] = {}

    def of(self, message: Message) -> Message:
        known = self._made.get(id(message))
        if known is None or known[0] is not message:  # an id is used again once its object is gone
            known = (message, self._make(message))
            self._made[id(message)] = known
        return known[1]

    def clear(self) -> None:
        self._made.clear()


def _left_out(message: Message) -> Message:
    return message.model_copy(update={"text": LEFT_OUT, "summary": LEFT_OUT})


def as_text(message: Message) -> Message:
    """A message with calls, or a tool's result, as plain text in the form of envelopes and observations."""
    if message.role == "tool":
        text = f"Result of {message.tool_name}:\n{message.text}"
        return message.model_copy(update={"role": "user", "text": text, "tool_call_id": None, "tool_name": None})
    calls = [
        f'{{"type":"action","name":{json.dumps(call.name)},"args":{call.args_text.strip() or "{}"}}}'
        for call in message.tool_calls
    ]
    text = "\n".join([part for part in (message.text, *calls) if part])
    return message.model_copy(update={"text": text, "tool_calls": [], "provider_data": None})
