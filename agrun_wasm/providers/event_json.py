"""Model events and requests as JSON, for host providers and for the border to the page.

Owned here: the JSON form of each event and of a request. Must not know: dialects and transports.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from agrun_wasm.contracts.model import (
    Finished,
    ModelEvent,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    TokenUsage,
    ToolArgsDelta,
    ToolCall,
    ToolCallDone,
)
from agrun_wasm.contracts.naming import did_you_mean
from agrun_wasm.providers.errors import bad_response

__all__ = ["EVENT_TYPES", "event_json", "flatten_request", "model_event", "request_json"]

_FINISH_REASONS = ("stop", "tool_calls", "length", "content_filter")


def model_event(value: Any) -> ModelEvent:
    """An event as it is, or out of its JSON form. Raises ProviderError PROVIDER_BAD_RESPONSE, naming what is wrong.

    Forms: `{"type": "text-delta", "text"}`, `{"type": "reasoning-delta", "text"}`, `{"type": "tool-args-delta",
    "callId", "name", "text"}`, `{"type": "tool-call", "id", "name", "args" | "argsText", "providerData"?}`,
    `{"type": "finished", "reason", "usage"?, "rawReason"?, "providerData"?}`.
    """
    if isinstance(value, TextDelta | ReasoningDelta | ToolArgsDelta | ToolCallDone | Finished):
        return value
    if not isinstance(value, Mapping):
        raise bad_response(f"a model event is {type(value).__name__}, not an event or an object with a type")
    kind = value.get("type")
    read = EVENT_TYPES.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise bad_response(f"unknown type of model event {kind!r}{did_you_mean(str(kind), EVENT_TYPES)}")
    try:
        return read(value)
    except (KeyError, TypeError, ValueError, ValidationError) as fault:
        what = f"{fault.args[0]!r} is missing" if isinstance(fault, KeyError) else type(fault).__name__
        raise bad_response(f"model event {kind!r}: {what}") from None


def event_json(event: ModelEvent) -> dict[str, Any]:
    """The inverse of `model_event`."""
    if isinstance(event, TextDelta):
        return {"type": "text-delta", "text": event.text}
    if isinstance(event, ReasoningDelta):
        return {"type": "reasoning-delta", "text": event.text}
    if isinstance(event, ToolArgsDelta):
        return {"type": "tool-args-delta", "callId": event.call_id, "name": event.name, "text": event.text}
    if isinstance(event, ToolCallDone):
        return {"type": "tool-call", **event.call.to_json()}
    return {
        "type": "finished",
        "reason": event.reason,
        "usage": event.usage.to_json(),
        "rawReason": event.raw_reason,
        "providerData": event.provider_data,
    }


def request_json(request: ModelRequest) -> dict[str, Any]:
    """A request for a provider outside: no key, no header, no saved fields of ours."""
    return {
        "purpose": request.purpose,
        "system": request.system,
        "messages": [
            message.model_dump(
                mode="json",
                by_alias=True,
                include={
                    "role",
                    "text",
                    "images",
                    "tool_calls",
                    "tool_call_id",
                    "tool_name",
                    "is_error",
                    "provider_data",
                },
            )
            for message in request.messages
        ],
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in request.tools
        ],
        "settings": dict(request.settings),
        "responseSchema": request.response_schema,
        "stablePrefix": request.stable_prefix,
    }


def flatten_request(request: ModelRequest) -> str:
    """Every message's text, tool calls and tool results in order, after the system text, as one string."""
    parts = [request.system]
    for message in request.messages:
        parts.append(message.text)
        parts += [f"{call.name} {call.args_text}" for call in message.tool_calls]
    return "\n".join(part for part in parts if part)


def _text(value: Mapping[str, Any]) -> str:
    text = value["text"]
    if not isinstance(text, str):
        raise TypeError("text")
    return text


def _args_delta(value: Mapping[str, Any]) -> ModelEvent:
    return ToolArgsDelta(str(value.get("callId") or ""), str(value.get("name") or ""), _text(value))


def _call(value: Mapping[str, Any]) -> ModelEvent:
    text = value.get("argsText")
    if text is None:
        args = value.get("args")
        # A text given as args is the arguments as written, not a JSON string of them.
        text = args if isinstance(args, str) else "" if args is None else json.dumps(args, ensure_ascii=False)
    call = ToolCall(
        id=value.get("id") or "", name=value["name"], args_text=text, provider_data=value.get("providerData")
    )
    return ToolCallDone(call)


def _finished(value: Mapping[str, Any]) -> ModelEvent:
    reason = value.get("reason", "stop")
    if reason not in _FINISH_REASONS:
        raise bad_response(f"unknown finish reason {reason!r}{did_you_mean(str(reason), _FINISH_REASONS)}")
    usage = TokenUsage.model_validate(value.get("usage") or {})
    return Finished(reason, usage, value.get("rawReason"), value.get("providerData"))


EVENT_TYPES: dict[str, Callable[[Mapping[str, Any]], ModelEvent]] = {
    "text-delta": lambda value: TextDelta(_text(value)),
    "reasoning-delta": lambda value: ReasoningDelta(_text(value)),
    "tool-args-delta": _args_delta,
    "tool-call": _call,
    "finished": _finished,
}
