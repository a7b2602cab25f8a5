"""Replies of the Gemini API: chunks, or one whole body, to model events.

Owned here: candidates and their parts, finish and block reasons, usage, and the signatures that go back on exactly
their own part. Must not know: requests.
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
from agrun_wasm.providers.frames import TextJoiner, count, load_frame, mapping, text_of
from agrun_wasm.providers.part_order import PartOrder
from agrun_wasm.providers.tool_calls import ToolCalls
from agrun_wasm.text.sse import SseEvent

__all__ = ["DIALECT", "FINISH_REASONS", "GeminiDecoder"]

DIALECT = "gemini"

#: reasons that end a reply; all others (MALFORMED_FUNCTION_CALL, OTHER, ...) say that there is none
FINISH_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "FUNCTION_CALL": "tool_calls",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
}
_UNSPECIFIED = ("FINISH_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED")


class GeminiDecoder:
    """Chunks of a generateContent reply to model events."""

    def __init__(self, request: ModelRequest, names: Mapping[str, str]) -> None:
        self.ended = False
        self.done = False
        self._calls = ToolCalls(request.messages, names)
        self._order = PartOrder()
        self._text = TextJoiner()
        self._thought = TextJoiner()
        self._reason: str | None = None
        self._words = ""
        self._blocked: str | None = None
        self._usage: dict[str, Any] = {}

    def feed(self, event: SseEvent) -> list[ModelEvent]:
        if not event.data.strip() or event.data == "[DONE]":
            return []
        return self._chunk(load_frame(event.data))

    def whole(self, payload: Any) -> list[ModelEvent]:
        chunks = payload if isinstance(payload, list) else [payload]
        if not any("candidates" in mapping(chunk) or "promptFeedback" in mapping(chunk) for chunk in chunks):
            raise bad_response(f"the body is no generated content: {head_of(dumps(payload))}")
        return [event for chunk in chunks for event in self._chunk(chunk)]

    def finish(self) -> list[ModelEvent]:
        if not self.ended:
            raise bad_response("the stream ended without its end mark (finishReason)")
        left = self._text.close()
        if left:
            self._order.text(len(left))
        events: list[ModelEvent] = [TextDelta(left)] if left else []
        calls = self._calls.done()
        raw = self._blocked or self._reason or "STOP"
        reason: FinishReason | None = "content_filter" if self._blocked else FINISH_REASONS.get(raw)
        if reason is None:
            raise bad_response(f"the model ended its reply with {raw}{f': {self._words}' if self._words else ''}")
        return [*events, *calls, Finished(reason, _usage(self._usage), raw, self._order.data(DIALECT))]

    def _chunk(self, chunk: Any) -> list[ModelEvent]:
        if is_error(chunk):
            raise inner_error(chunk)
        usage = chunk.get("usageMetadata")
        if usage:
            self._usage.update({key: value for key, value in usage.items() if value is not None})
        blocked = mapping(chunk.get("promptFeedback")).get("blockReason")
        if blocked and blocked not in _UNSPECIFIED:
            self._blocked = str(blocked)
            self.ended = True
        events: list[ModelEvent] = []
        for candidate in chunk.get("candidates") or ():
            if candidate.get("index"):
                continue
            for part in mapping(candidate.get("content")).get("parts") or ():
                self._part(part, events)
            reason = candidate.get("finishReason")
            if reason and reason not in _UNSPECIFIED:
                self._reason = str(reason)
                self._words = head_of(text_of(candidate.get("finishMessage")))
                self.ended = True
        return events

    def _part(self, part: Mapping[str, Any], events: list[ModelEvent]) -> None:
        signature = part.get("thoughtSignature")
        signed = {"thoughtSignature": signature} if signature else None
        function = part.get("functionCall")
        if function is not None:
            self._call(mapping(function), signed, events)
            return
        text = text_of(part.get("text"))
        if part.get("thought"):
            thought = self._thought.feed(text) if text else ""
            if thought:
                events.append(ReasoningDelta(thought))
            if signed:
                self._order.raw({"text": text, "thought": True, **signed})
            return
        shown = self._text.feed(text) if text else ""
        if shown or signed:
            self._order.text(len(shown), signed)
        if shown:
            events.append(TextDelta(shown))

    def _call(self, function: Mapping[str, Any], signed: dict[str, Any] | None, events: list[ModelEvent]) -> None:
        """A call comes whole; calls of one name are different calls."""
        args = function.get("args")
        call, event = self._calls.feed(
            call_id=text_of(function.get("id")),
            name=text_of(function.get("name")),
            args="" if args is None else dumps(args),
            opens=True,
        )
        call.provider_data = {DIALECT: signed} if signed else None
        self._order.call(call.id)
        if event is not None:
            events.append(event)


def _usage(usage: Mapping[str, Any]) -> TokenUsage:
    """Output as all providers are counted here: thoughts are part of it."""
    prompt, tools = count(usage.get("promptTokenCount")), count(usage.get("toolUsePromptTokenCount"))
    answer, thoughts = count(usage.get("candidatesTokenCount")), count(usage.get("thoughtsTokenCount"))
    return TokenUsage(
        input_tokens=_sum(prompt, tools),
        output_tokens=_sum(answer, thoughts),
        cached_input_tokens=count(usage.get("cachedContentTokenCount")),
        reasoning_tokens=thoughts,
    )


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None and second is None else (first or 0) + (second or 0)
