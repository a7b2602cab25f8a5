"""Messages as JSON text; each message is encoded once per dialect, so that a long history costs little.

Owned here: the cache on messages, valid arguments, image addresses and the words that stand for empty texts. Must not
know: any dialect's fields.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from operator import is_, itemgetter
from typing import Any
from urllib.parse import unquote_to_bytes

from agrun_wasm.contracts.config import ProviderConfig
from agrun_wasm.contracts.model import Message, ModelRequest
from agrun_wasm.contracts.request import ImagePart
from agrun_wasm.text.strict_json import JsonTextError, parse_json

__all__ = [
    "NO_OUTPUT",
    "NO_TEXT",
    "args_object",
    "args_text",
    "data_url",
    "dumps",
    "settings_of",
    "streams",
    "wire",
]

#: APIs refuse empty (some also blank) contents
NO_TEXT = "(no text)"
NO_OUTPUT = "(no output)"

dumps: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_MADE_FROM = ""
_SHOWN = itemgetter("role", "text", "images", "tool_calls", "tool_call_id", "tool_name", "is_error", "provider_data")
_DATA_URL = re.compile(r"data:([^;,]*)((?:;[^;,]*)*),(.*)", re.DOTALL | re.IGNORECASE)


def wire(message: Message, key: str, encode: Callable[[Message], str]) -> str:
    """The message's encoded form under `key`, made on first use.

    A copy of a message shares its cache, so the cache counts only for the very values it was made from.
    """
    values = _SHOWN(message.__dict__)
    # The private slot itself: attribute access would go through pydantic's __getattr__ for each message of a history.
    private: dict[str, Any] = message.__pydantic_private__ or {}
    cache: dict[str, Any] = private.get("_wire") or {}
    made_from = cache.get(_MADE_FROM)
    if made_from is None or not all(map(is_, made_from, values)):
        cache = private["_wire"] = {_MADE_FROM: values}
    text: str | None = cache.get(key)
    if text is None:
        text = cache[key] = encode(message)
    return text


def args_object(text: str) -> dict[str, Any]:
    """Arguments as APIs take them back: an object; what is none goes back as an empty one (a later request is refused
    for broken JSON in its history)."""
    try:
        value = parse_json(text)
    except JsonTextError:
        return {}
    return value if isinstance(value, dict) else {}


def args_text(text: str) -> str:
    """Arguments as they were written, where they are an object; else an empty one."""
    return text if args_object(text) else "{}"


def data_url(image: ImagePart) -> tuple[str, str] | None:
    """Media type and base64 of a `data:` URL, None for an image elsewhere."""
    match = _DATA_URL.fullmatch(image.url.strip())
    if match is None:
        return None
    media_type = image.mime_type or match.group(1) or "image/png"
    content = match.group(3)
    if "base64" not in match.group(2).lower():
        content = base64.b64encode(unquote_to_bytes(content)).decode()
    return media_type, content


def settings_of(
    config: ProviderConfig,
    request: ModelRequest,
    max_tokens: str,
    reserved: frozenset[str],
    only_with_tools: frozenset[str],
) -> dict[str, Any]:
    """The host's settings as they go into a body: as they are, `maxTokens` under the provider's own name.

    The request's win over the config's; what the dialect itself writes (`reserved`) cannot be set, nor
    `only_with_tools` where the request offers none.
    """
    merged = {**config.settings, **request.settings}
    if "maxTokens" in merged:
        merged.setdefault(max_tokens, merged["maxTokens"])
        del merged["maxTokens"]
    left_out = reserved if request.tools else reserved | only_with_tools
    return {key: value for key, value in merged.items() if key not in left_out}


def streams(config: ProviderConfig, request: ModelRequest) -> bool:
    """False only where the host's settings say `stream: false`."""
    return request.settings.get("stream", config.settings.get("stream", True)) is not False
