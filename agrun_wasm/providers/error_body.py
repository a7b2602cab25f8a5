"""What the body of a failed model call says, whichever provider wrote it.

Owned here: the shapes of error bodies (OpenAI, Anthropic, Gemini, FastAPI, gateways, HTML pages) and the words in them.
Must not know: which error code follows from them (`errors`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from agrun_wasm.text.shorten import one_line

__all__ = ["MESSAGE_LIMIT", "ErrorBody", "head_of", "is_error", "read_payload", "read_text"]

#: characters of a provider's own words that a message quotes
MESSAGE_LIMIT = 300

#: keys under which servers echo the request back; their words are the caller's, not the server's
_ECHOES = frozenset({"input", "ctx", "body", "request", "messages"})
#: where a message stands, first that holds a text
_MESSAGE_KEYS = ("message", "msg", "detail", "error_description", "description", "title", "reason")
_NOT_SHOWN = r"(?is)<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)|<[^>]*(?:>|\Z)"


class ErrorBody(NamedTuple):
    """An error body, read.

    `number` is an HTTP status that the error names, `kinds` are the words it names itself by (type, status, code, in
    this order), `words` is all text of the body without echoes of the request, `retry_delay_ms` is Google's RetryInfo.
    """

    message: str = ""
    number: int | None = None
    kinds: tuple[str, ...] = ()
    words: str = ""
    retry_delay_ms: float | None = None


def is_error(payload: Any) -> bool:
    """Is this JSON of a 200 an error? `error: null` and a missing `error` are none."""
    if isinstance(payload, list):
        return any(is_error(item) for item in payload if isinstance(item, dict))
    if not isinstance(payload, dict):
        return False
    if payload.get("error") or payload.get("errors"):
        return True
    return "error" in (payload.get("type"), payload.get("object"))


def read_text(text: str) -> ErrorBody:
    """A body as it came: JSON where it is JSON, else its readable head."""
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        try:
            return read_payload(json.loads(stripped))
        except (ValueError, RecursionError):
            pass
    return ErrorBody(message=head_of(text), words=text)


def read_payload(payload: Any) -> ErrorBody:
    """A body that is JSON already."""
    if isinstance(payload, list):
        payload = next((item for item in payload if is_error(item)), payload[0] if payload else {})
    if not isinstance(payload, Mapping):
        return ErrorBody(message=one_line(str(payload), MESSAGE_LIMIT), words=str(payload))
    inner = payload.get("error") or payload.get("errors")
    if isinstance(inner, list) and inner:
        inner = inner[0]
    # An error that is only a text has its code and status beside it.
    named: Mapping[str, Any] = inner if isinstance(inner, Mapping) else payload
    message = inner if isinstance(inner, str) else _message(named) or _message(payload)
    raw = _raw_of_upstream(named)
    if raw and raw not in message:
        message = f"{message}: {raw}" if message else raw
    return ErrorBody(
        message=one_line(message or json.dumps(payload, ensure_ascii=False), MESSAGE_LIMIT) if payload else "",
        number=_number(named),
        kinds=tuple(_kinds(named)),
        words="\n".join(_words(payload)),
        retry_delay_ms=_retry_delay(named),
    )


def head_of(text: str) -> str:
    """The readable head of a body that is no JSON; of an HTML page what a person would see of it."""
    if text.lstrip()[:1] == "<":
        text = re.sub(_NOT_SHOWN, " ", text) or text
    return one_line(text, MESSAGE_LIMIT)


def _message(named: Mapping[str, Any]) -> str:
    for key in _MESSAGE_KEYS:
        found = named.get(key)
        if isinstance(found, str) and found.strip():
            return found
        if isinstance(found, list) and found:
            texts = [_message(item) for item in found if isinstance(item, Mapping)]
            return "; ".join(text for text in texts if text)
    return ""


def _raw_of_upstream(named: Mapping[str, Any]) -> str:
    """What a router (OpenRouter) quotes of the provider behind it."""
    metadata = named.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return raw if isinstance(raw, str) else ""


def _number(named: Mapping[str, Any]) -> int | None:
    for key in ("code", "status"):
        value = named.get(key)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3:
            value = int(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and 400 <= value <= 599:
            return int(value)
    return None


def _kinds(named: Mapping[str, Any]) -> Iterator[str]:
    for key in ("type", "status", "code"):
        value = named.get(key)
        if isinstance(value, str) and value not in ("", "error") and not value.isdigit():
            yield value
    for detail in _details(named):
        reason = detail.get("reason")
        if isinstance(reason, str):
            yield reason


def _details(named: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    details = named.get("details")
    return [item for item in details if isinstance(item, Mapping)] if isinstance(details, list) else []


def _retry_delay(named: Mapping[str, Any]) -> float | None:
    """Google's RetryInfo: `"7s"`, `"0.5s"` or `{seconds, nanos}`, in ms."""
    for detail in _details(named):
        delay = detail.get("retryDelay")
        if isinstance(delay, Mapping):
            seconds, nanos = delay.get("seconds", 0), delay.get("nanos", 0)
            try:
                return max(float(seconds) * 1000 + float(nanos) / 1_000_000, 0.0)
            except (TypeError, ValueError):
                continue
        if isinstance(delay, str) and (match := re.fullmatch(r"\s*(\d+(?:\.\d+)?)s\s*", delay, re.ASCII)):
            return float(match.group(1)) * 1000
    return None


def _words(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth > 8:
        return
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key not in _ECHOES:
                yield key
                yield from _words(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _words(item, depth + 1)
