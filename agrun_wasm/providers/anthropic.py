"""The Anthropic messages dialect: its requests.

Owned here: `POST {base}/v1/messages`, its body, headers and cache marks; the reply is read by `anthropic_stream`. Must
not know: connections, retries. Source of the forms: Anthropic's API reference, version 2023-06-01.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.model import Message, ModelRequest, ToolCall, ToolSpec
from agrun_wasm.contracts.ports import FetchRequest
from agrun_wasm.contracts.request import ImagePart
from agrun_wasm.providers.anthropic_stream import DIALECT, AnthropicDecoder
from agrun_wasm.providers.encoding import (
    NO_OUTPUT,
    NO_TEXT,
    args_object,
    data_url,
    dumps,
    settings_of,
    streams,
    wire,
)
from agrun_wasm.providers.endpoint import endpoint
from agrun_wasm.providers.json_post import json_post
from agrun_wasm.providers.offered_tools import OfferedTools, wire_name
from agrun_wasm.providers.part_order import laid_out
from agrun_wasm.providers.tool_schema import anthropic_schema
from agrun_wasm.providers.turns import History, Turn

__all__ = ["DEFAULT_MAX_TOKENS", "Anthropic"]

#: the API asks for a limit
DEFAULT_MAX_TOKENS = 4096

_VERSION = "2023-06-01"
_BROWSER_HEADER = "anthropic-dangerous-direct-browser-access"
_RESERVED = frozenset({"model", "messages", "system", "tools", "stream"})
_ONLY_WITH_TOOLS = frozenset({"tool_choice"})
_CACHE = ',"cache_control":{"type":"ephemeral"}}'
_NO_CONTENT = dumps({"type": "text", "text": NO_TEXT})
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]")


class Anthropic:
    """Anthropic's API, from a server or (with its own header) straight from a page."""

    name = DIALECT
    default_base_url: str | None = "https://api.anthropic.com"
    key_required = True

    def __init__(self) -> None:
        self._tools = OfferedTools(_tool)
        self._history = History(_turn)

    def http_request(
        self, request: ModelRequest, config: ProviderConfig, api_key: str | None, *, browser: bool
    ) -> FetchRequest:
        headers = {"anthropic-version": _VERSION}
        if api_key:
            headers["x-api-key"] = api_key
        if browser:
            headers[_BROWSER_HEADER] = "true"
        url = endpoint(config.base_url or self.default_base_url or "", "messages", version="v1")
        return json_post(config, url, self._body(request, config), headers)

    def decoder(self, request: ModelRequest) -> AnthropicDecoder:
        return AnthropicDecoder(request, self._tools.of(request.tools).names)

    def _body(self, request: ModelRequest, config: ProviderConfig) -> str:
        head = {"model": config.model, **settings_of(config, request, "max_tokens", _RESERVED, _ONLY_WITH_TOOLS)}
        head.setdefault("max_tokens", DEFAULT_MAX_TOKENS)
        head["stream"] = streams(config, request)
        tools = self._tools.of(request.tools).json
        offered = f',"tools":{tools}' if tools else ""
        messages = self._history.text(request.messages, _marks(request))
        # The mark on the system text covers the tools too: they stand before it in the cached prefix.
        system = f',"system":[{_marked(dumps({"type": "text", "text": request.system}))}]' if request.system else ""
        return f'{dumps(head)[:-1]}{offered}{system},"messages":[{messages}]}}'


def _tool(tool: ToolSpec, name: str) -> dict[str, Any]:
    return {"name": name, "description": tool.description, "input_schema": anthropic_schema(tool.parameters)}


def _turn(turn: Turn, marks: Collection[int]) -> str:
    parts = [
        _marked(wire(message, DIALECT, _encode)) if place in marks else wire(message, DIALECT, _encode)
        for place, message in turn.results + turn.others
    ]
    role = "assistant" if turn.by_model else "user"
    return f'{{"role":"{role}","content":[{",".join(parts) or _NO_CONTENT}]}}'


def _marks(request: ModelRequest) -> set[int]:
    """Where the cache is to reach: the end of what earlier calls of the run sent, and of what the next will repeat."""
    ends = {request.stable_prefix - 1}
    if request.purpose == "planner":
        ends.add(len(request.messages) - 1)
    return {end for end in ends if 0 <= end < len(request.messages) and request.messages[end].role != "assistant"}


def _marked(parts: str) -> str:
    """The encoded parts with a cache mark on the last one."""
    return parts[:-1] + _CACHE


def _encode(message: Message) -> str:
    if message.role == "tool":
        return dumps(_result(message))
    if message.role == "user":
        parts: list[Mapping[str, Any]] = [_image(image) for image in message.images]
        if message.text.strip() or not parts:
            parts.append(_text(message.text, {}))
    else:
        parts = laid_out(message, DIALECT, _text, _call) or [_text("", {})]
    return ",".join(map(dumps, parts))


def _text(text: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    # Blank text blocks are refused.
    return {"type": "text", "text": text if text.strip() else NO_TEXT, **extra}


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": _id(call.id),
        "name": wire_name(call.name),
        "input": args_object(call.args_text),
    }


def _result(message: Message) -> dict[str, Any]:
    text = message.text if message.text.strip() else NO_OUTPUT
    content: Any = text
    if message.images:
        content = [{"type": "text", "text": text}, *map(_image, message.images)]
    result = {"type": "tool_result", "tool_use_id": _id(message.tool_call_id or ""), "content": content}
    return {**result, "is_error": True} if message.is_error else result


def _image(image: ImagePart) -> dict[str, Any]:
    inline = data_url(image)
    if inline is None:
        return {"type": "image", "source": {"type": "url", "url": image.url}}
    return {"type": "image", "source": {"type": "base64", "media_type": inline[0], "data": inline[1]}}


def _id(call_id: str) -> str:
    """Ids of another provider in a history may hold signs that this one refuses."""
    return _NOT_IN_IDS.sub("_", call_id) or "_"
