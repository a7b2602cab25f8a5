"""Tool calls out of the pieces that servers send them in.

Owned here: which call a piece belongs to, its id and name, and its arguments as one text. The rules, in this order: a
known id wins; a new id opens a call, even on a used index; then the index; then the latest open call. Ids are never
joined, a missing one is invented. Must not know: any server's wire format, and whether arguments are good JSON for
anyone (`args_text` is what the model wrote).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from agrun_wasm.contracts.model import Message, ModelEvent, ToolArgsDelta, ToolCall, ToolCallDone
from agrun_wasm.text.strict_json import JsonTextError, parse_json, without_surrogates

__all__ = ["INVENTED", "InventedIds", "OpenCall", "ToolCalls"]

#: how ids begin that the provider did not give; they are not sent where a provider would take them for its own
INVENTED = "agrun_"


@dataclass(slots=True)
class OpenCall:
    """A call that is being written. `given_id` is None until the server names one."""

    given_id: str | None
    index: int | None
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    invented_id: str = ""
    provider_data: dict[str, Any] | None = None

    @property
    def id(self) -> str:
        return self.given_id or self.invented_id

    def args(self) -> str:
        return "".join(self.pieces)

    def is_whole(self) -> bool:
        """Are the arguments so far one JSON object that another piece cannot belong to? `{}` may be a placeholder."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        text = self.args().strip()
        return text != "{}" and _parses(text)


class ToolCalls:
    """The calls of one reply. `messages` is what it answers: ids that are made up here stand in none of them.

    `names` leads from names on the wire to those of the offered tools, where they differ.
    """

    def __init__(self, messages: Collection[Message] = (), names: Mapping[str, str] = MappingProxyType({})) -> None:
        self._ids = InventedIds(messages)
        self._names = names
        self._calls: list[OpenCall] = []
        self._by_id: dict[str, OpenCall] = {}
        self._by_index: dict[int, OpenCall] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def feed(
        self,
        *,
        call_id: str | None = None,
        index: int | None = None,
        name: str | None = None,
        args: str = "",
        opens: bool = False,
    ) -> tuple[OpenCall, ModelEvent | None]:
        """One piece: the call it belongs to, and a live event where it brought arguments.

        `opens` says that the server's form leaves no doubt that a call begins here.
        """
        call = self._find(call_id or None, index, name or "", args, opens)
        if name:
            call.name = _joined_name(call, name)
        return call, self.add(call, args)

    def add(self, call: OpenCall, args: str) -> ModelEvent | None:
        """One more piece of a known call's arguments."""
        if not args:
            return None
        call.pieces.append(args)
        return ToolArgsDelta(call.id, call.name, args)

    def set_args(self, call: OpenCall, whole: str) -> ModelEvent | None:
        """The whole arguments, sent once more or only now: they replace pieces, an empty text replaces nothing."""
        if not whole or whole == call.args():
            return None
        first = not call.pieces
        call.pieces = [whole]
        return ToolArgsDelta(call.id, call.name, whole) if first else None

    def done(self) -> list[ToolCallDone]:
        """The calls in order: by index where every call has one of its own, else as they began."""
        calls = self._joined_fragments()
        indexes = [call.index for call in calls]
        if None not in indexes and len(set(indexes)) == len(indexes):
            calls = sorted(calls, key=lambda call: call.index or 0)
        return [
            ToolCallDone(
                ToolCall(
                    id=call.id,
                    name=self._names.get(call.name, call.name),
                    args_text=_settled(call),
                    provider_data=call.provider_data,
                )
            )
            for call in calls
        ]

    def _find(self, call_id: str | None, index: int | None, name: str, args: str, opens: bool) -> OpenCall:
        if call_id is not None and call_id in self._by_id:
            known = self._by_id[call_id]
            # One id for two whole calls: the second gets an id of its own, or both would be one broken call.
            return self._open(None, index) if _begins_another(known, name, args) else known
        place = self._place(index)
        if place is None or opens or _begins_another(place, name, args):
            return self._open(call_id, index)
        if call_id is not None:
            if place.given_id is not None or (name and place.name and name != place.name):
                return self._open(call_id, index)
            place.given_id = call_id
            self._by_id[call_id] = place
        elif name and place.pieces and name != place.name and (index is None or place.index is None):
            return self._open(None, index)
        if index is not None and place.index is None:
            place.index = index
            self._by_index[index] = place
        return place

    def _place(self, index: int | None) -> OpenCall | None:
        """Where a piece without a known id goes: the call of its index, else the latest one that has none."""
        if index is not None and index in self._by_index:
            return self._by_index[index]
        latest = self._calls[-1] if self._calls else None
        return latest if index is None or (latest is not None and latest.index is None) else None

    def _open(self, call_id: str | None, index: int | None) -> OpenCall:
        call = OpenCall(call_id, index, invented_id="" if call_id else self._ids.new())
        self._calls.append(call)
        if call_id is not None:
            self._by_id[call_id] = call
        if index is not None:
            self._by_index[index] = call
        return call

    def _joined_fragments(self) -> list[OpenCall]:
        """Calls that never got a name are pieces of the call before them on their index: servers change ids midway."""
        calls: list[OpenCall] = []
        for call in self._calls:
            before = next((c for c in reversed(calls) if c.index == call.index), None)
            if call.name or before is None or (before.is_whole() and call.args().strip()):
                calls.append(call)
            else:
                before.pieces += call.pieces
        return calls


class InventedIds:
    """Ids for calls that came without one: derived from the run's place, so that a replay gives the same ones."""

    def __init__(self, messages: Collection[Message]) -> None:
        self._messages = messages
        self._given = 0
        self._used: set[str] | None = None

    def new(self) -> str:
        if self._used is None:
            self._used = {call.id for message in self._messages for call in message.tool_calls}
        cycle = max((message.cycle for message in self._messages), default=0)
        while True:
            self._given += 1
            new = f"{INVENTED}{cycle}_{len(self._messages)}_{self._given}"
            if new not in self._used:
                return new


def _begins_another(call: OpenCall, name: str, args: str) -> bool:
    """A named piece with arguments of its own, after whole arguments, is another call on the same index or id."""
    return bool(name and args.strip() and call.name and call.is_whole() and args.strip() != call.args().strip())


def _joined_name(call: OpenCall, piece: str) -> str:
    """Names come whole, repeated with each piece, growing, or in pieces."""
    if not call.name or piece.startswith(call.name):
        return piece
    return call.name if call.pieces else call.name + piece


def _settled(call: OpenCall) -> str:
    """The arguments without a placeholder before them, and once where the server sent them twice."""
    text = call.args()
    if not text.isascii():
        text = without_surrogates(text)
    stripped = text.strip()
    if not stripped or _parses(stripped):
        return text
    for placeholder in ("{}", "null", '""'):
        rest = stripped.removeprefix(placeholder).lstrip()
        if rest != stripped and _parses(rest):
            return rest
    half = stripped[: len(stripped) // 2]
    return half if half + half == stripped and _parses(half) else text


def _parses(text: str) -> bool:
    try:
        parse_json(text)
    except JsonTextError:
        return False
    return True
