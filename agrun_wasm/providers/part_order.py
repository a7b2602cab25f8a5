"""The parts of an assistant message in the order and form that its provider needs to see again.

Some replies hold parts that must go back untouched and in place: thinking blocks with a signature, reasoning items, a
signature on one part. Owned here: how they are kept in a message's `provider_data` and laid out again. Must not know:
which parts those are for whom. The data stands under its dialect's name, so that another provider never gets it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agrun_wasm.contracts.model import Message, ToolCall
from agrun_wasm.providers.frames import whole_characters

__all__ = ["PartOrder", "laid_out"]

Part = Mapping[str, Any]


class PartOrder:
    """Notes the parts of a reply as they come."""

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []
        self._needed = False

    def raw(self, part: Part) -> None:
        """A part that goes back as it is."""
        self._entries.append({"raw": dict(part)})
        self._needed = True

    def text(self, length: int, extra: Part | None = None) -> None:
        """So many characters of the reply's text; `extra` are fields that go back on exactly this part."""
        last = self._entries[-1] if self._entries else {}
        if extra:
            self._entries.append({"text": length, "with": dict(extra)})
            self._needed = True
        elif "text" in last and "with" not in last:
            last["text"] += length
        elif length:
            self._entries.append({"text": length})

    def call(self, call_id: str) -> None:
        """The place of a tool call."""
        self._entries.append({"call": call_id})

    def data(self, dialect: str) -> dict[str, Any] | None:
        """The message's `provider_data`, None where the plain order says it all."""
        return {dialect: whole_characters(self._entries)} if self._needed else None


def laid_out(
    message: Message,
    dialect: str,
    text_part: Callable[[str, Part], Part],
    call_part: Callable[[ToolCall], Part],
) -> list[Part]:
    """The message's parts: as noted, where this dialect noted them, else its text and then its calls."""
    noted = (message.provider_data or {}).get(dialect)
    entries: list[Any] = noted if isinstance(noted, list) else []
    calls = {call.id: call for call in message.tool_calls}
    lengths = sum(entry.get("text", 0) for entry in entries)
    # The runtime may have shown the model another text than it wrote; then the text stays in one piece.
    exact = lengths == len(message.text)
    parts: list[Part] = []
    at = 0
    placed = not message.text
    for entry in entries:
        if "raw" in entry:
            parts.append(entry["raw"])
        elif "call" in entry:
            if not placed and not exact:
                parts.append(text_part(message.text, {}))
                placed = True
            if entry["call"] in calls:
                parts.append(call_part(calls.pop(entry["call"])))
        elif exact:
            extra = entry.get("with", {})
            piece = message.text[at : at + entry["text"]]
            at += entry["text"]
            if piece or extra:
                parts.append(text_part(piece, extra))
            placed = True
    if not placed:
        parts.append(text_part(message.text, {}))
    parts += [call_part(call) for call in calls.values()]
    return parts
