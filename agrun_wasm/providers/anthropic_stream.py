"""Replies of Anthropic's messages API: events, or one whole body, to model events.

Owned here: content blocks and their deltas, stop reasons, usage, and the thinking blocks that must go back as they
came. Must not know: requests.
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

__all__ = ["DIALECT", "FINISH_REASONS", "AnthropicDecoder"]

DIALECT = "anthropic"

FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_THINKING = ("thinking", "redacted_thinking")
_COUNTED = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class _Block:
    """A content block that is being written."""

    __slots__ = ("args_at_start", "call", "raw", "text")

    def __init__(self) -> None:
        self.call: OpenCall | None = None
        self.args_at_start = False
        #: a thinking block, gathered to go back as it came
        self.raw: dict[str, Any] | None = None
        self.text = TextJoiner()


class AnthropicDecoder:
    """Events of a message to model events."""

    def __init__(self, request: ModelRequest, names: Mapping[str, str]) -> None:
        self.ended = False
        self.done = False
        self._calls = ToolCalls(request.messages, names)
        self._order = PartOrder()
        self._blocks: dict[int, _Block] = {}
        self._reason: str | None = None
        self._came = False
        self._counts: dict[str, int] = {}

    def feed(self, event: SseEvent) -> list[ModelEvent]:
        if not event.data.strip() or event.data == "[DONE]":
            return []
        data = load_frame(event.data)
        kind = data.get("type") or event.event
        if kind == "content_block_delta":
            return self._delta(data.get("index", 0), mapping(data.get("delta")))
        if kind == "error" or is_error(data):
            raise inner_error(data)
        if kind == "content_block_start":
            return self._start(data.get("index", 0), mapping(data.get("content_block")))
        if kind == "content_block_stop":
            return self._stop(data.get("index", 0))
        if kind == "message_start":
            self._count(mapping(mapping(data.get("message")).get("usage")))
        elif kind == "message_delta":
            self._count(mapping(data.get("usage")))
            self._end(mapping(data.get("delta")).get("stop_reason"))
        elif kind == "message_stop":
            self.ended = self.done = True
        return []

    def whole(self, payload: Any) -> list[ModelEvent]:
        if not isinstance(payload, dict) or not isinstance(payload.get("content"), list):
            raise bad_response(f"the body is no message: {head_of(dumps(payload))}")
        events: list[ModelEvent] = []
        for index, block in enumerate(payload["content"]):
            events += self._start(index, mapping(block))
            events += self._stop(index)
        self._count(mapping(payload.get("usage")))
        self._end(payload.get("stop_reason"))
        self.ended = True
        return events

    def finish(self) -> list[ModelEvent]:
        if not self.ended:
            raise bad_response("the stream ended without its end mark (stop_reason or message_stop)")
        events: list[ModelEvent] = []
        for index in list(self._blocks):
            events += self._stop(index)
        calls = self._calls.done()
        reason = finish_reason(self._reason, FINISH_REASONS, anything_came=self._came or bool(calls))
        return [*events, *calls, Finished(reason, self._usage(), self._reason, self._order.data(DIALECT))]

    def _end(self, stop_reason: Any) -> None:
        if stop_reason:
            self._reason = str(stop_reason)
            self.ended = True

    def _start(self, index: int, block: Mapping[str, Any]) -> list[ModelEvent]:
        opened = self._blocks[index] = _Block()
        kind = block.get("type")
        if kind == "tool_use":
            call, _ = self._calls.feed(
                call_id=text_of(block.get("id")), index=index, name=text_of(block.get("name")), opens=True
            )
            opened.call = call
            self._order.call(call.id)
            # `{}` here is a placeholder for the deltas to come; servers without deltas put the arguments here.
            if block.get("input"):
                opened.args_at_start = True
                event = self._calls.set_args(call, dumps(block["input"]))
                return [event] if event is not None else []
        elif kind in _THINKING:
            opened.raw = dict(block)
            if block.get("thinking"):
                return [ReasoningDelta(text_of(block["thinking"]))]
        elif kind == "text" and block.get("text"):
            return self._say(opened, text_of(block["text"]))
        return []

    def _delta(self, index: int, delta: Mapping[str, Any]) -> list[ModelEvent]:
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = _Block()
        kind = delta.get("type")
        if kind == "text_delta":
            return self._say(block, text_of(delta.get("text")))
        if kind == "input_json_delta":
            return self._args(block, index, text_of(delta.get("partial_json")))
        if kind == "thinking_delta":
            piece = text_of(delta.get("thinking"))
            if block.raw is not None:
                block.raw["thinking"] = text_of(block.raw.get("thinking")) + piece
            shown = block.text.feed(piece) if piece else ""
            return [ReasoningDelta(shown)] if shown else []
        if kind == "signature_delta" and block.raw is not None:
            block.raw["signature"] = text_of(block.raw.get("signature")) + text_of(delta.get("signature"))
        return []

    def _args(self, block: _Block, index: int, piece: str) -> list[ModelEvent]:
        if not piece:
            return []
        if block.call is not None and block.args_at_start:
            # What was given at the start was the beginning or a copy of what the deltas say in full.
            block.args_at_start = False
            block.call.pieces.clear()
        if block.call is None:
            block.call, event = self._calls.feed(index=index, args=piece)
        else:
            event = self._calls.add(block.call, piece)
        return [event] if event is not None else []

    def _say(self, block: _Block, piece: str) -> list[ModelEvent]:
        shown = block.text.feed(piece) if piece else ""
        if not shown:
            return []
        self._came = True
        self._order.text(len(shown))
        return [TextDelta(shown)]

    def _stop(self, index: int) -> list[ModelEvent]:
        block = self._blocks.pop(index, None)
        if block is None:
            return []
        if block.raw is not None:
            # Without its signature (or data) the API refuses a thinking block.
            if block.raw.get("signature") or block.raw.get("data"):
                self._order.raw(block.raw)
            return []
        left = block.text.close()
        if left:
            self._order.text(len(left))
        return [TextDelta(left)] if left else []

    def _count(self, usage: Mapping[str, Any]) -> None:
        # Counts are cumulative, and servers send 0 for what they do not repeat.
        for key in _COUNTED:
            number = count(usage.get(key))
            if number is not None:
                self._counts[key] = max(number, self._counts.get(key, 0))

    def _usage(self) -> TokenUsage:
        """Input as all providers are counted here: with what was read from and written to the cache."""
        counts = self._counts
        read = counts.get("cache_read_input_tokens")
        uncached = counts.get("input_tokens")
        total = None if uncached is None else uncached + (read or 0) + counts.get("cache_creation_input_tokens", 0)
        return TokenUsage(input_tokens=total, output_tokens=counts.get("output_tokens"), cached_input_tokens=read)
