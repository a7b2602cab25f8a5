"""Replies of chat completions: chunks, or one whole body, to model events.

Owned here: the fields of a chunk, finish reasons and usage, of OpenAI and of the servers that speak like it. Must not
know: requests. The odd forms are those of public bug reports (cases, area b-stream).
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
from agrun_wasm.providers.frames import TextJoiner, count, finish_reason, load_frame, mapping, text_of, whole_characters
from agrun_wasm.providers.tool_calls import ToolCalls
from agrun_wasm.text.sse import SseEvent

__all__ = ["FINISH_REASONS", "ChatDecoder"]

FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
}
#: fields of an assistant message that only some servers send, and want back beside its tool calls
_RETURNED = ("reasoning_content", "reasoning_details")


class ChatDecoder:
    """Chunks of a chat completion to events."""

    def __init__(self, request: ModelRequest, names: Mapping[str, str], key: str) -> None:
        self.ended = False
        self.done = False
        self._key = key
        self._calls = ToolCalls(request.messages, names)
        self._text = TextJoiner()
        self._reasoning = TextJoiner()
        self._reason: str | None = None
        self._came = False
        self._usage: dict[str, Any] = {}
        self._returned: dict[str, Any] = {}

    def feed(self, event: SseEvent) -> list[ModelEvent]:
        data = event.data
        if not data.startswith("{"):
            word = data.strip()
            if word == "[DONE]":
                self.ended = self.done = True
            if word in ("", "[DONE]"):
                return []
        chunk = load_frame(data)
        if event.event == "error" and not is_error(chunk):
            raise inner_error({"error": chunk})
        return self._chunk(chunk)

    def whole(self, payload: Any) -> list[ModelEvent]:
        if not isinstance(payload, dict) or not payload.get("choices"):
            raise bad_response(f"the body is no chat completion: {head_of(dumps(payload))}")
        events = self._chunk(payload)
        self.ended = True
        return events

    def finish(self) -> list[ModelEvent]:
        if not self.ended:
            raise bad_response("the stream ended without its end mark (finish_reason or [DONE])")
        events: list[ModelEvent] = []
        left = self._text.close()
        if left:
            events.append(TextDelta(left))
        calls = self._calls.done()
        reason = finish_reason(self._reason, FINISH_REASONS, anything_came=self._came or bool(calls))
        data = {self._key: whole_characters(self._returned)} if self._returned else None
        return [*events, *calls, Finished(reason, _usage(self._usage), self._reason, data)]

    def _chunk(self, chunk: Any) -> list[ModelEvent]:
        if not isinstance(chunk, dict):
            raise bad_response(f"the stream holds an event that is no chunk: {head_of(str(chunk))}")
        if is_error(chunk):
            raise inner_error(chunk)
        usage = chunk.get("usage")
        if usage:
            self._usage.update({key: value for key, value in mapping(usage).items() if value is not None})
        events: list[ModelEvent] = []
        for choice in chunk.get("choices") or ():
            # Only one answer is asked for; others are not ours.
            if not choice or choice.get("index"):
                continue
            delta = choice.get("delta") or (None if self._came or len(self._calls) else choice.get("message"))
            if delta:
                self._delta(delta, events)
            reason = choice.get("finish_reason")
            if reason:
                if reason == "error" or choice.get("error"):
                    raise inner_error({"error": choice.get("error") or "the server ended the reply with an error"})
                self._reason = str(reason)
                self.ended = True
        return events

    def _delta(self, delta: Mapping[str, Any], events: list[ModelEvent]) -> None:
        content = delta.get("content")
        if content:
            if isinstance(content, str):
                self._say(content, events)
            else:
                self._parts(content, events)
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if thought and isinstance(thought, str):
            self._think(thought, events)
        refusal = delta.get("refusal")
        if refusal and isinstance(refusal, str):
            self._say(refusal, events)
        calls = delta.get("tool_calls")
        if calls:
            self._tool_calls(calls, events)
        for name in _RETURNED:
            value = delta.get(name)
            if value:
                before = self._returned.get(name)
                self._returned[name] = value if before is None else before + value

    def _say(self, text: str, events: list[ModelEvent]) -> None:
        shown = self._text.feed(text)
        if shown:
            self._came = True
            events.append(TextDelta(shown))

    def _think(self, text: str, events: list[ModelEvent]) -> None:
        shown = self._reasoning.feed(text)
        if shown:
            events.append(ReasoningDelta(shown))

    def _parts(self, content: Any, events: list[ModelEvent]) -> None:
        """Content as a list of parts (Mistral)."""
        for part in content if isinstance(content, list) else ():
            kind = mapping(part).get("type")
            if kind == "text" and part.get("text"):
                self._say(text_of(part["text"]), events)
            elif kind == "thinking":
                for thought in part.get("thinking") or ():
                    if mapping(thought).get("text"):
                        self._think(text_of(thought["text"]), events)

    def _tool_calls(self, calls: Any, events: list[ModelEvent]) -> None:
        several = len(calls) > 1
        for piece in calls:
            function = mapping(piece.get("function"))
            index, name, args = piece.get("index"), function.get("name"), function.get("arguments")
            given = piece.get("id")
            known_place = isinstance(index, int) and not isinstance(index, bool)
            call, event = self._calls.feed(
                call_id=str(given) if given else None,
                index=index if known_place else None,
                name=text_of(name),
                args=args if isinstance(args, str) else "" if args is None else dumps(args),
                opens=several and bool(name) and not given and not known_place,
            )
            if piece.get("extra_content"):
                call.provider_data = {self._key: {"extra_content": piece["extra_content"]}}
            if event is not None:
                events.append(event)


def _usage(usage: Mapping[str, Any]) -> TokenUsage:
    read = mapping(usage.get("prompt_tokens_details")).get("cached_tokens")
    return TokenUsage(
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
        # DeepSeek's own name stands beside OpenAI's.
        cached_input_tokens=count(read if read is not None else usage.get("prompt_cache_hit_tokens")),
        reasoning_tokens=count(mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")),
    )
