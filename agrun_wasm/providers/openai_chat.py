"""The chat completions dialect: OpenAI, and every server that speaks like it (`openai-compatible`).

Owned here: `POST {base}/chat/completions`, its body and headers; the reply is read by `openai_chat_stream`. Must not
know: connections, retries. Source of the forms: OpenAI's API reference.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.model import Message, ModelRequest, ToolSpec
from agrun_wasm.contracts.ports import FetchRequest
from agrun_wasm.contracts.request import ImagePart
from agrun_wasm.providers.encoding import (
    NO_OUTPUT,
    NO_TEXT,
    args_text,
    dumps,
    settings_of,
    streams,
    wire,
)
from agrun_wasm.providers.endpoint import endpoint
from agrun_wasm.providers.frames import mapping
from agrun_wasm.providers.json_post import bearer, json_post
from agrun_wasm.providers.offered_tools import OfferedTools, wire_name
from agrun_wasm.providers.openai_chat_stream import ChatDecoder
from agrun_wasm.providers.tool_schema import openai_schema
from agrun_wasm.providers.turns import History, Turn

__all__ = ["OpenAiChat"]

_RESERVED = frozenset({"model", "messages", "tools", "stream", "stream_options"})
_ONLY_WITH_TOOLS = frozenset({"tool_choice", "parallel_tool_calls"})


class OpenAiChat:
    """`compatible`: any other server than OpenAI's own; it is sent only what they all understand."""

    key_required: bool
    default_base_url: str | None

    def __init__(self, *, compatible: bool = False) -> None:
        self.name = "openai-compatible" if compatible else "openai"
        self.key_required = not compatible
        self.default_base_url = None if compatible else "https://api.openai.com/v1"
        self._compatible = compatible
        self._tools = OfferedTools(_tool)
        self._history = History(self._turn)

    def http_request(
        self,
        request: ModelRequest,
        config: ProviderConfig,
        api_key: str | None,
        *,
        browser: bool,  # noqa: ARG002
    ) -> FetchRequest:
        base = config.base_url or self.default_base_url or ""
        url = endpoint(base, "chat/completions", version="v1")
        return json_post(config, url, self._body(request, config), bearer(api_key))

    def decoder(self, request: ModelRequest) -> ChatDecoder:
        return ChatDecoder(request, self._tools.of(request.tools).names, self.name)

    def _body(self, request: ModelRequest, config: ProviderConfig) -> str:
        limit = "max_tokens" if self._compatible else "max_completion_tokens"
        head = {"model": config.model, **settings_of(config, request, limit, _RESERVED, _ONLY_WITH_TOOLS)}
        if streams(config, request):
            head["stream"] = True
            head["stream_options"] = {"include_usage": True}
        else:
            head["stream"] = False
        if request.response_schema is not None and not self._compatible:
            schema = {"name": "reply", "schema": request.response_schema, "strict": False}
            head.setdefault("response_format", {"type": "json_schema", "json_schema": schema})
        tools = self._tools.of(request.tools).json
        offered = f',"tools":{tools}' if tools else ""
        system = [dumps({"role": "system", "content": request.system})] if request.system else []
        messages = ",".join(filter(None, [*system, self._history.text(request.messages)]))
        return f'{dumps(head)[:-1]}{offered},"messages":[{messages}]}}'

    def _turn(self, turn: Turn, _marks: Collection[int]) -> str:
        parts = [wire(message, self.name, self._encode) for _, message in turn.results]
        # Tool messages hold text only, and nothing may stand between them: their images follow as a user's.
        parts += [wire(message, f"{self.name}+images", _images) for _, message in turn.results if message.images]
        parts += [wire(message, self.name, self._encode) for _, message in turn.others]
        return ",".join(parts)

    def _encode(self, message: Message) -> str:
        return dumps(_message(message, self.name))


def _tool(tool: ToolSpec, name: str) -> dict[str, Any]:
    function = {"name": name, "description": tool.description, "parameters": openai_schema(tool.parameters)}
    return {"type": "function", "function": function}


def _message(message: Message, key: str) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id or "", "content": message.text or NO_OUTPUT}
    if message.role == "user":
        if not message.images:
            return {"role": "user", "content": message.text or NO_TEXT}
        shown = [{"type": "text", "text": message.text}] if message.text else []
        return {"role": "user", "content": [*shown, *map(_image, message.images)]}
    if not message.tool_calls:
        return {"role": "assistant", "content": message.text or NO_TEXT}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": wire_name(call.name), "arguments": args_text(call.args_text)},
            **_own(call.provider_data, key),
        }
        for call in message.tool_calls
    ]
    own = _own(message.provider_data, key)
    return {"role": "assistant", "content": message.text or None, **own, "tool_calls": calls}


def _own(data: Mapping[str, Any] | None, key: str) -> Mapping[str, Any]:
    """Fields that this server sent and wants back."""
    return mapping((data or {}).get(key))


def _image(image: ImagePart) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": image.url}}


def _images(message: Message) -> str:
    label = {"type": "text", "text": f"Image of the result of {message.tool_name or 'the tool'}:"}
    return dumps({"role": "user", "content": [label, *map(_image, message.images)]})
