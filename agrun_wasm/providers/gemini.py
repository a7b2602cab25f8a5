"""The Gemini dialect: its requests.

Owned here: `POST {base}/v1beta/models/{model}:streamGenerateContent?alt=sse`, its body and headers; the reply is read
by `gemini_stream`. The key goes in a header, never in the URL. Must not know: connections, retries. Source of the
forms: Google's API reference of the Gemini API.
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
    args_object,
    data_url,
    dumps,
    settings_of,
    streams,
    wire,
)
from agrun_wasm.providers.endpoint import endpoint
from agrun_wasm.providers.frames import mapping
from agrun_wasm.providers.gemini_stream import DIALECT, GeminiDecoder
from agrun_wasm.providers.json_post import json_post
from agrun_wasm.providers.offered_tools import OfferedTools, wire_name
from agrun_wasm.providers.part_order import laid_out
from agrun_wasm.providers.tool_calls import INVENTED
from agrun_wasm.providers.tool_schema import gemini_schema
from agrun_wasm.providers.turns import History, Turn

__all__ = ["TOP_LEVEL_SETTINGS", "Gemini"]

#: settings that stand beside generationConfig, all others stand in it
TOP_LEVEL_SETTINGS = frozenset({"safetySettings", "toolConfig", "cachedContent", "labels", "generationConfig"})

_NO_CONTENT = dumps({"text": NO_TEXT})
_RESERVED = frozenset({"model", "contents", "systemInstruction", "tools", "stream"})
_ONLY_WITH_TOOLS = frozenset({"toolConfig"})


class Gemini:
    """Google's Gemini API."""

    name = DIALECT
    default_base_url: str | None = "https://generativelanguage.googleapis.com"
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
        streaming = streams(config, request)
        model = config.model if "/" in config.model else f"models/{config.model}"
        url = endpoint(
            config.base_url or self.default_base_url or "",
            f"{model}:{'streamGenerateContent' if streaming else 'generateContent'}",
            version="v1beta",
            query={"alt": "sse"} if streaming else {},
        )
        return json_post(config, url, self._body(request, config), {"x-goog-api-key": api_key} if api_key else {})

    def decoder(self, request: ModelRequest) -> GeminiDecoder:
        return GeminiDecoder(request, self._tools.of(request.tools).names)

    def _body(self, request: ModelRequest, config: ProviderConfig) -> str:
        settings = settings_of(config, request, "maxOutputTokens", _RESERVED, _ONLY_WITH_TOOLS)
        head = {key: value for key, value in settings.items() if key in TOP_LEVEL_SETTINGS}
        generation = {key: value for key, value in settings.items() if key not in TOP_LEVEL_SETTINGS}
        generation.update(mapping(head.pop("generationConfig", None)))
        tools = self._tools.of(request.tools).json
        if request.response_schema is not None and not tools:
            # Not beside tools: the API refuses both together.
            generation.setdefault("responseMimeType", "application/json")
            generation.setdefault("responseJsonSchema", request.response_schema)
        if generation:
            head["generationConfig"] = generation
        if request.system:
            head["systemInstruction"] = {"parts": [{"text": request.system}]}
        offered = f'"tools":[{{"functionDeclarations":{tools}}}],' if tools else ""
        rest = f",{dumps(head)[1:]}" if head else "}"
        return f'{{{offered}"contents":[{self._history.text(request.messages)}]{rest}'


def _tool(tool: ToolSpec, name: str) -> dict[str, Any]:
    declaration: dict[str, Any] = {"name": name, "description": tool.description}
    parameters = gemini_schema(tool.parameters)
    return {**declaration, "parameters": parameters} if parameters is not None else declaration


def _turn(turn: Turn, _marks: Collection[int]) -> str:
    parts = [wire(message, DIALECT, _encode) for _, message in turn.results]
    # Results stand together: what they show as images comes after them.
    parts += [wire(message, f"{DIALECT}+images", _images) for _, message in turn.results if message.images]
    parts += [wire(message, DIALECT, _encode) for _, message in turn.others]
    role = "model" if turn.by_model else "user"
    return f'{{"role":"{role}","parts":[{",".join(parts) or _NO_CONTENT}]}}'


def _encode(message: Message) -> str:
    if message.role == "tool":
        return dumps(_result(message))
    if message.role == "user":
        images = [_images(message)] if message.images else []
        shown = [dumps(_text(message.text, {}))] if message.text or not images else []
        return ",".join(images + shown)
    return ",".join(map(dumps, laid_out(message, DIALECT, _text, _call) or [_text("", {})]))


def _images(message: Message) -> str:
    return ",".join(dumps(_image(image)) for image in message.images)


def _text(text: str, extra: Mapping[str, Any]) -> dict[str, Any]:
    # A signature may stand on an empty text; otherwise empty texts are refused.
    return {"text": text if text or extra else NO_TEXT, **extra}


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": wire_name(call.name), "args": args_object(call.args_text), **_id(call.id)}
    return {"functionCall": function, **mapping((call.provider_data or {}).get(DIALECT))}


def _result(message: Message) -> dict[str, Any]:
    answer = {"error" if message.is_error else "output": message.text or NO_OUTPUT}
    name = wire_name(message.tool_name or "tool")
    return {"functionResponse": {"name": name, "response": answer, **_id(message.tool_call_id or "")}}


def _id(call_id: str) -> dict[str, str]:
    """Ids that we made up stay here: the API pairs calls and results by name and order then."""
    return {"id": call_id} if call_id and not call_id.startswith(INVENTED) else {}


def _image(image: ImagePart) -> dict[str, Any]:
    inline = data_url(image)
    if inline is not None:
        return {"inlineData": {"mimeType": inline[0], "data": inline[1]}}
    return {"fileData": {"fileUri": image.url, **({"mimeType": image.mime_type} if image.mime_type else {})}}
