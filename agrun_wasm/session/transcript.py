"""What a model is shown of a run: the turns before it, the prompt, and the transcript, within the context budget.

Owns the view, never the state. Rules: document 2, 2.9 (inputFilter), 2.12. The same state gives the same messages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from agrun_wasm.contracts.config import ContextBudget
from agrun_wasm.contracts.model import Message
from agrun_wasm.contracts.request import ImagePart, Part, TextPart, Turn
from agrun_wasm.contracts.state import RunState
from agrun_wasm.text.shorten import one_line

#: how many more messages are shrunk at once than the budget needs, so that the prefix stays the same for some cycles
_SLACK = 8
_COMPACTED_KINDS = ("decision", "result", "observation")
_HEADING_ROOM = 80
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
        turns = [*state.history, *state.request.conversation]
        self._lead = [*(turn_message(turn) for turn in turns), prompt_message(state)]
        self._size = sum(m.size() for m in self._lead) + sum(m.size() for m in state.transcript)
        self._plain = _Derived(as_text)
        self._shrunk = _Derived(_shrunk)
        self._left_out = _Derived(_left_out)
        self.compacted = 0

    def append(self, message: Message) -> None:
        self._state.transcript.append(message)
        self._size += message.size()

    def view(self, *, as_text: bool) -> tuple[Message, ...]:
        """The messages to send. `as_text` writes calls and results as plain text, for requests without tools."""
        shown = self._unhidden(self._state.transcript)
        if as_text:
            shown = [
                self._plain.of(message) if message.tool_calls or message.role == "tool" else message
                for message in shown
            ]
        return (*self._lead, *self._compact(shown))

    def _unhidden(self, messages: list[Message]) -> list[Message]:
        """Without what a handoff's inputFilter hides; whole cycles go, so a call keeps its result."""
        hidden = self._state.agent_skill_context.hidden
        if not hidden:
            return messages
        before = hidden.get("actionHistory", 0)
        kept = [m for m in messages if m.cycle > before or m.kind not in ("decision", "result")]
        return [self._filtered(m, hidden) for m in kept]

    def _filtered(self, message: Message, hidden: dict[str, int]) -> Message:
        lists = [(name, places) for name, places in message.shows.items() if places]
        if lists and any(all(place < hidden.get(name, 0) for place in places) for name, places in lists):
            return self._left_out.of(message)
        return message

    def _compact(self, messages: list[Message]) -> list[Message]:
        """Over the budget: oldest results shrink to their summaries, then old cycles to one line each (2.12)."""
        limit = self._budget.max_chars
        if self._size <= limit:  # kept as messages come, since counting anew would cost every cycle more
            return messages
        size = sum(message.size() for message in self._lead) + sum(message.size() for message in messages)
        if size <= limit:
            return messages
        # The cycle in progress has no result yet: the latest ones are those before it.
        last_old = self._state.cycles_started - 1 - self._budget.keep_last_cycles
        shown = list(messages)
        self.compacted = 0
        for place, message in enumerate(shown):
            if size <= limit and self.compacted % _SLACK == 0:
                break
            if message.kind == "result" and message.cycle <= last_old and len(message.summary) < len(message.text):
                shown[place] = self._shrunk.of(message)
                size -= message.size() - shown[place].size()
                self.compacted += 1
        return shown if size <= limit else self._one_line_each(shown, last_old, size + _HEADING_ROOM)

    def _one_line_each(self, messages: list[Message], last_old: int, size: int) -> list[Message]:
        """Old cycles as one line each, the oldest first, until the rest fits; the lines count too."""
        limit = self._budget.max_chars
        by_cycle: dict[int, list[Message]] = {}
        for message in messages:
            if message.cycle <= last_old and message.kind in _COMPACTED_KINDS:
                by_cycle.setdefault(message.cycle, []).append(message)
        lines: list[str] = []
        for cycle, own in by_cycle.items():
            if size <= limit:
                break
            line = _line(cycle, own)
            lines.append(line)
            size += len(line) + 1 - sum(message.size() for message in own)
        gone = set(list(by_cycle)[: len(lines)])
        self.compacted += len(lines)
        while lines and size > limit:
            size -= len(lines.pop(0)) + 1
        if not gone:
            return messages
        left_out = len(gone) - len(lines)
        heading = "Earlier cycles, shortened" + (f" ({left_out} older ones left out)" if left_out else "")
        first = Message(role="user", kind="observation", text="\n".join([f"{heading}:", *lines]))
        return [first, *(m for m in messages if m.cycle not in gone or m.kind not in _COMPACTED_KINDS)]


def _line(cycle: int, messages: list[Message]) -> str:
    parts = [", ".join(c.name for c in m.tool_calls) or m.summary or one_line(m.text, 80) for m in messages]
    return one_line(f"cycle {cycle}: {' -> '.join(parts)}", 200)


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


def _shrunk(message: Message) -> Message:
    return message.model_copy(update={"text": message.summary or "[shortened]"})


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
