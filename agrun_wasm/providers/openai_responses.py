"""The responses dialect of OpenAI: its requests.

Owned here: `POST {base}/responses`, its body and headers; the reply is read by `openai_responses_stream`. Nothing is
stored at the provider unless the host's settings say so: the history goes along each time. Must not know: connections,
retries. Source of the forms: OpenAI's API reference.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.model import Message, ModelRequest, ToolCall, ToolSpec
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
from agrun_wasm.providers.json_post import bearer, json_post
from agrun_wasm.providers.offered_tools import OfferedTools, wire_name
from agrun_wasm.providers.openai_responses_stream import DIALECT, ResponsesDecoder
from agrun_wasm.providers.part_order import laid_out
from agrun_wasm.providers.tool_schema import openai_schema
from agrun_wasm.providers.turns import History, Turn

__all__ = ["OpenAiResponses"]

_RESERVED = frozenset({"model", "input", "instructions", "tools", "stream"})
_ONLY_WITH_TOOLS = frozenset({"tool_choice", "parallel_tool_calls"})


class OpenAiResponses:
    """OpenAI's responses API."""

    name = DIALECT
    default_base_url: str | None = "https://api.openai.com/v1"
    key_required = True

    def __init__(self) -> None:
        self._tools = OfferedTools(_tool)
        self._history = History(_turn)

    def http_request(
        self,
        request: ModelRequest,
        config: ProviderConfig,
        api_key: str | None,
        *,
        browser: bool,  # noqa: ARG002
    ) -> FetchRequest:
        url = endpoint(config.base_url or self.default_base_url or "", "responses", version="v1")
        return json_post(config, url, self._body(request, config), bearer(api_key))

    def decoder(self, request: ModelRequest) -> ResponsesDecoder:
        return ResponsesDecoder(request, self._tools.of(request.tools).names)

    def _body(self, request: ModelRequest, config: ProviderConfig) -> str:
        head = {"model": config.model, **settings_of(config, request, "max_output_tokens", _RESERVED, _ONLY_WITH_TOOLS)}
        head.setdefault("store", False)
        if "reasoning" in head and head["store"] is False:
            # What is not stored can only be thought on when it comes back; models that do not reason refuse this.
            head.setdefault("include", ["reasoning.encrypted_content"])
        if request.response_schema is not None:
            schema = {"type": "json_schema", "name": "reply", "schema": request.response_schema, "strict": False}
            head.setdefault("text", {"format": schema})
        head["stream"] = streams(config, request)
        tools = self._tools.of(request.tools).json
        if request.system:
            head["instructions"] = request.system
        offered = f',"tools":{tools}' if tools else ""
        return f'{dumps(head)[:-1]}{offered},"input":[{self._history.text(request.messages)}]}}'


def _tool(tool: ToolSpec, name: str) -> dict[str, Any]:
    return {
        "type": "function",
        "name": name,
        "description": tool.description,
        "parameters": openai_schema(tool.parameters),
        # The API's own default would be strict, which refuses open schemas.
        "strict": False,
    }


def _turn(turn: Turn, _marks: Collection[int]) -> str:
    return ",".join(wire(message, DIALECT, _encode) for _, message in turn.results + turn.others)


def _encode(message: Message) -> str:
    if message.role == "tool":
        return dumps(_result(message))
    if message.role == "user":
        return dumps({"role": "user", "content": _content(message, message.text or NO_TEXT)})
    items = laid_out(message, DIALECT, _text, _call) or [_text(NO_TEXT, {})]
    if DIALECT not in (message.provider_data or {}):
        # Ids of items only mean something beside the reasoning they belong to.
        items = [{key: value for key, value in item.items() if key != "id"} for item in items]
    return ",".join(map(dumps, items))


def _text(text: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": text or NO_TEXT, **extra}


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": wire_name(call.name),
        "arguments": args_text(call.args_text),
        **((call.provider_data or {}).get(DIALECT) or {}),
    }


def _result(message: Message) -> dict[str, Any]:
    output = _content(message, message.text or NO_OUTPUT)
    return {"type": "function_call_output", "call_id": message.tool_call_id or "", "output": output}


def _content(message: Message, text: str) -> Any:
    if not message.images:
        return text
    shown = [{"type": "input_text", "text": text}] if message.text else []
    return [*shown, *map(_image, message.images)]


def _image(image: ImagePart) -> dict[str, Any]:
    return {"type": "input_image", "image_url": image.url, "detail": "auto"}
