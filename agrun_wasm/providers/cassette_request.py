"""What a cassette knows a request by: its canonical form, the key of that, and how two of them differ.

Owned here: what counts of a request and what does not (the order of JSON keys, headers that say nothing about the
answer, the names that a server gave its tool calls). Must not know: files, answers, and how secrets are taken out.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from agrun_wasm.contracts.ports import FetchRequest
from agrun_wasm.text.digest import digest
from agrun_wasm.text.shorten import one_line

__all__ = ["KEPT_HEADERS", "body_bytes", "body_value", "canonical_request", "differences", "request_key"]

#: all that is kept of a request's headers; every other one may sign somebody in, or changes from call to call
KEPT_HEADERS = frozenset({"accept", "accept-language", "anthropic-version", "anthropic-beta", "content-type"})

#: fields that name a call or a caller: two runs never give the same
_CALL_IDS = frozenset({"id", "tool_call_id", "call_id", "tool_use_id"})
_CALLERS = frozenset({"user", "metadata", "prompt_cache_key", "safety_identifier"})
#: where an object is a tool's own data, in which an `id` means something
_TOOL_DATA = frozenset({"args", "input", "input_schema", "parameters", "response", "schema"})
_SHOWN_CHARS = 160


def canonical_request(request: FetchRequest) -> dict[str, Any]:
    """The request as JSON: method, url, purpose, kept headers, and the body as JSON, text or `{"base64"}`."""
    kept = {name.lower(): value for name, value in request.headers.items() if name.lower() in KEPT_HEADERS}
    known: dict[str, Any] = {"method": request.method.upper(), "url": request.url, "purpose": request.purpose}
    if kept:
        known["headers"] = dict(sorted(kept.items()))
    if request.body is not None:
        known["body"] = body_value(request.body)
    return known


def body_value(body: bytes) -> Any:
    """A body as a JSON value: parsed where it is JSON, else its text, else `{"base64": ...}`."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def body_bytes(value: str | Mapping[str, Any]) -> bytes:
    """The bytes of a text, or of `{"base64": ...}`; raises ValueError for anything else."""
    if isinstance(value, str):
        return value.encode()
    return base64.b64decode(value["base64"], validate=True)


def request_key(canonical: Mapping[str, Any]) -> str:
    """The digest by which equal requests are found; the ids in a body count by their order, not their letters."""
    return digest({**canonical, "body": _without_ids(canonical.get("body"))})


def differences(recorded: Mapping[str, Any], asked: Mapping[str, Any], limit: int = 8) -> list[str]:
    """The first places where two canonical requests differ, a line each: `path: recorded ... , asked ...`."""
    before = {**recorded, "body": _without_ids(recorded.get("body"))}
    now = {**asked, "body": _without_ids(asked.get("body"))}
    found: list[str] = []
    for path, old, new in _different(before, now, ""):
        if len(found) == limit:
            found.append("and more")
            break
        found.append(f"{path or 'request'}: recorded {_shown(old, new)}, asked {_shown(new, old)}")
    return found


class _Missing:
    pass


_MISSING = _Missing()


def _different(old: Any, new: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from _different(old.get(key, _MISSING), new.get(key, _MISSING), f"{path}.{key}" if path else key)
    elif isinstance(old, list) and isinstance(new, list):
        for place in range(max(len(old), len(new))):
            before, now = (items[place] if place < len(items) else _MISSING for items in (old, new))
            yield from _different(before, now, f"{path}[{place}]")
    elif type(old) is not type(new) or old != new:
        yield path, old, new


def _shown(value: Any, other: Any) -> str:
    """The value in one line; of a long text the part where it begins to differ."""
    if value is _MISSING:
        return "nothing"
    if isinstance(value, str) and isinstance(other, str) and len(value) > _SHOWN_CHARS:
        same = next((at for at, (a, b) in enumerate(zip(value, other, strict=False)) if a != b), len(other))
        value = value[max(0, same - 40) :]
    return one_line(json.dumps(value, ensure_ascii=False), _SHOWN_CHARS)


def _without_ids(body: Any) -> Any:
    """The body without its callers' names, each call's id replaced by the order of its first appearance."""
    if not isinstance(body, dict):
        return body
    seen: dict[str, str] = {}
    return _renamed({key: value for key, value in body.items() if key not in _CALLERS}, seen)


def _renamed(value: Any, seen: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_renamed(item, seen) for item in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for key in sorted(value):  # by name: the order in which a client writes its keys numbers nothing
        item = value[key]
        if key in _CALL_IDS and isinstance(item, str):
            made[key] = seen.setdefault(item, f"#{len(seen) + 1}")
        elif key in _TOOL_DATA and isinstance(item, dict):
            made[key] = item
        else:
            made[key] = _renamed(item, seen)
    return made
