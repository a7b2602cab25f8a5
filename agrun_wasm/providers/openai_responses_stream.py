"""Replies of the responses API: events, or one whole response, to model events.

Owned here: output items, their deltas and the "done" events that repeat or replace them, terminal events, usage, and
the reasoning items that go back. Must not know: requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agrun_wasm.contracts.model import (
    Finished,
    FinishReason,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    TokenUsage,
)
from agrun_wasm.providers.encoding import dumps
from agrun_wasm.providers.error_body import head_of, is_error
from agrun_wasm.providers.errors import bad_response, inner_error
from agrun_wasm.providers.frames import TextJoiner, count, finish_reason, load_frame, mapping, text_of
from agrun_wasm.providers.part_order import PartOrder
from agrun_wasm.providers.tool_calls import OpenCall, ToolCalls
from agrun_wasm.text.sse import SseEvent

__all__ = ["DIALECT", "INCOMPLETE_REASONS", "ResponsesDecoder"]

DIALECT = "openai-responses"

#: incomplete_details.reason, and "completed" for a response that is whole
INCOMPLETE_REASONS: dict[str, FinishReason] = {
    "completed": "stop",
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
_TEXT_DELTAS = ("response.output_text.delta", "response.refusal.delta")
_TEXT_DONE = {"response.output_text.done": "text", "response.refusal.done": "refusal"}
_THOUGHT_DELTAS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_TERMINAL = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


class _Item:
    """An output item that is being written: its call, or the texts of its parts by content index."""

    __slots__ = ("call", "joiner", "noted", "parts")

    def __init__(self) -> None:
        self.call: OpenCall | None = None
        self.parts: dict[int, int] = {}
        self.joiner = TextJoiner()
        self.noted = False


class ResponsesDecoder:
    """Events of a response to model events. What a "done" event repeats is counted once; what only it holds counts."""

    def __init__(self, request: ModelRequest, names: Mapping[str, str]) -> None:
        self.ended = False
        self.done = False
        self._calls = ToolCalls(request.messages, names)
        self._order = PartOrder()
        self._items: dict[str, _Item] = {}
        self._latest: _Item | None = None
        self._came = False
        self._reason: str | None = None
        self._usage: Mapping[str, Any] = {}

    def feed(self, event: SseEvent) -> list[ModelEvent]:
        if not event.data.strip():
            return []
        if event.data == "[DONE]":
            self.done = self.ended
            return []
        data = load_frame(event.data)
        kind = data.get("type") or event.event
        if kind in _TEXT_DELTAS:
            return self._text(self._item(data), data.get("content_index") or 0, text_of(data.get("delta")))
        if kind == "response.function_call_arguments.delta":
            return self._args(self._item(data), data)
        if kind in _THOUGHT_DELTAS:
            thought = self._item(data).joiner.feed(text_of(data["delta"])) if data.get("delta") else ""
            return [ReasoningDelta(thought)] if thought else []
        if kind == "error" or is_error(data):
            raise inner_error(data)
        if kind in _TEXT_DONE:
            whole = text_of(data.get(_TEXT_DONE[kind]))
            return self._rest(self._item(data), data.get("content_index") or 0, whole)
        if kind == "response.function_call_arguments.done":
            return self._whole_args(self._item(data), data.get("arguments"), data)
        if kind in ("response.output_item.added", "response.output_item.done"):
            return self._output_item(self._item(data), mapping(data.get("item")), done=kind.endswith("done"))
        if kind in _TERMINAL:
            return self._terminal(mapping(data.get("response")), kind.rpartition(".")[2])
        return []

    def whole(self, payload: Any) -> list[ModelEvent]:
        if not isinstance(payload, dict) or not isinstance(payload.get("output"), list):
            raise bad_response(f"the body is no response: {head_of(dumps(payload))}")
        return self._terminal(payload, text_of(payload.get("status")) or "completed")

    def finish(self) -> list[ModelEvent]:
        if not self.ended:
            raise bad_response("the stream ended without its end mark (response.completed or response.incomplete)")
        events: list[ModelEvent] = []
        for item in dict.fromkeys(self._items.values()):
            left = item.joiner.close()
            if left and item.parts:
                self._order.text(len(left))
                events.append(TextDelta(left))
        calls = self._calls.done()
        came = self._came or bool(calls)
        reason = finish_reason(self._reason, INCOMPLETE_REASONS, anything_came=came, unknown="length")
        return [*events, *calls, Finished(reason, _usage(self._usage), self._reason, self._order.data(DIALECT))]

    def _item(self, data: Mapping[str, Any]) -> _Item:
        """Items are told apart by their id, or where a server leaves that out, by their place."""
        index = data.get("output_index")
        given = data.get("item_id") or mapping(data.get("item")).get("id")
        by_id = f"id {given}" if given else None
        by_place = f"at {index}" if index is not None else None
        item = self._items.get(by_id or "") or self._items.get(by_place or "")
        if item is None:
            nothing_said = by_id is None and by_place is None
            item = self._latest if nothing_said and self._latest is not None else _Item()
        self._latest = item
        for key in (by_id, by_place):
            if key is not None:
                self._items[key] = item
        return item

    def _output_item(self, item: _Item, given: Mapping[str, Any], *, done: bool) -> list[ModelEvent]:
        kind = given.get("type")
        if kind == "function_call":
            return self._call(item, given)
        if kind == "message" and done:
            events: list[ModelEvent] = []
            for index, part in enumerate(given.get("content") or ()):
                events += self._rest(item, index, text_of(part.get("text") or part.get("refusal")))
            return events
        if kind == "reasoning" and done and not item.noted:
            item.noted = True
            # Without its content it could only be sent back by a reference to what was not stored.
            if given.get("encrypted_content"):
                self._order.raw({key: value for key, value in given.items() if key != "status"})
        return []

    def _call(self, item: _Item, given: Mapping[str, Any]) -> list[ModelEvent]:
        if item.call is None:
            item.call, _ = self._calls.feed(
                call_id=text_of(given.get("call_id") or given.get("id")), name=text_of(given.get("name")), opens=True
            )
            if given.get("id"):
                item.call.provider_data = {DIALECT: {"id": given["id"]}}
            self._order.call(item.call.id)
        return self._whole_args(item, given.get("arguments"), {})

    def _args(self, item: _Item, data: Mapping[str, Any]) -> list[ModelEvent]:
        call = self._open_call(item, data)
        event = self._calls.add(call, text_of(data.get("delta")))
        return [event] if event is not None else []

    def _whole_args(self, item: _Item, whole: Any, data: Mapping[str, Any]) -> list[ModelEvent]:
        text = whole if isinstance(whole, str) else dumps(whole) if whole else ""
        event = self._calls.set_args(self._open_call(item, data), text)
        return [event] if event is not None else []

    def _open_call(self, item: _Item, data: Mapping[str, Any]) -> OpenCall:
        if item.call is None:
            item.call, _ = self._calls.feed(
                call_id=text_of(data.get("call_id")), name=text_of(data.get("name")), opens=True
            )
            self._order.call(item.call.id)
        return item.call

    def _text(self, item: _Item, index: int, piece: str) -> list[ModelEvent]:
        if not piece:
            return []
        item.parts[index] = item.parts.get(index, 0) + len(piece)
        shown = item.joiner.feed(piece)
        if not shown:
            return []
        self._came = True
        self._order.text(len(shown))
        return [TextDelta(shown)]

    def _rest(self, item: _Item, index: int, whole: str) -> list[ModelEvent]:
        """What a repetition of the whole text holds beyond its deltas."""
        return self._text(item, index, whole[item.parts.get(index, 0) :])

    def _terminal(self, response: Mapping[str, Any], named: str) -> list[ModelEvent]:
        status = text_of(response.get("status")) or named
        if status in ("failed", "cancelled") or named in ("failed", "cancelled") or response.get("error"):
            raise inner_error({"error": response.get("error") or f"the response was {status}"})
        events: list[ModelEvent] = []
        for index, output in enumerate(response.get("output") or ()):
            item = self._item({"output_index": index, "item": output})
            events += self._output_item(item, output, done=True)
        self._usage = mapping(response.get("usage"))
        incomplete = status == "incomplete" or named == "incomplete"
        self._reason = (
            text_of(mapping(response.get("incomplete_details")).get("reason")) or "incomplete"
            if incomplete
            else "completed"
        )
        self.ended = self.done = True
        return events


def _usage(usage: Mapping[str, Any]) -> TokenUsage:
    return TokenUsage(
        input_tokens=count(usage.get("input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
        cached_input_tokens=count(mapping(usage.get("input_tokens_details")).get("cached_tokens")),
        reasoning_tokens=count(mapping(usage.get("output_tokens_details")).get("reasoning_tokens")),
    )
