"""The border: the one module where values cross between Python and JS.

Text crosses as JSON, both ways; bytes cross as one copy. `undefined` never comes, `null` is None. JS has one number and
would round an integer beyond 2^53 - 1, so such an integer leaves as the string of its digits. A run's state must come
back digit for digit: where it holds such integers it leaves as JSON text of its own, under TEXT_KEY.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import js
from pyodide.ffi import JsException, create_once_callable, create_proxy, jsnull

__all__ = [
    "TEXT_KEY",
    "JsException",
    "absent",
    "expose",
    "expose_once",
    "from_text",
    "js_bytes",
    "py_bytes",
    "settled",
    "to_text",
]

TEXT_KEY = "$text"
LARGEST_INTEGER = 2**53 - 1
_MAYBE_LARGE = re.compile(r"\d{16}")
#: the key whose value must survive a round trip through JS
_EXACT_KEY = "state"


def to_text(value: Any) -> str:
    """`value` as JSON for the page."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if _MAYBE_LARGE.search(text) and _has_large(value):
        text = json.dumps(_without_large(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text


def from_text(text: str) -> Any:
    """What the page sent."""
    return json.loads(text)


def absent(value: Any) -> bool:
    """Is it JS's null or undefined, or None?"""
    return value is None or value is jsnull


def expose(function: Callable[[str], None]) -> Any:
    """`function` for JS to hold and call, until its `destroy()`."""
    return create_proxy(function)


def expose_once(function: Callable[[], None]) -> Any:
    """`function` for JS to call once; what it calls may wait for a promise, where the browser can switch stacks."""
    return create_once_callable(function, _may_syncify=True)


def py_bytes(array: Any) -> bytes:
    """A JS typed array's bytes, copied once."""
    return bytes(array.to_bytes())


def js_bytes(data: bytes) -> Any:
    """`data` as a Uint8Array, copied once."""
    array = js.Uint8Array.new(len(data))
    array.assign(data)
    return array


def settled(promise: Any) -> None:
    """Nobody will look at `promise` any more: it may fail without a complaint."""
    js.Promise.allSettled(js.Array.of(promise))


def _has_large(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_large, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_large, value))
    return isinstance(value, int) and abs(value) > LARGEST_INTEGER


def _without_large(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _exact(item) if key == _EXACT_KEY else _without_large(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_large(item) for item in value]
    return str(value) if isinstance(value, int) and abs(value) > LARGEST_INTEGER else value


def _exact(state: Any) -> Any:
    if not _has_large(state):
        return state
    return {TEXT_KEY: json.dumps(state, ensure_ascii=False, allow_nan=False, separators=(",", ":"))}
